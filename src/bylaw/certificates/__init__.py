"""Certificates: verdicts that can be checked without trusting Bylaw."""
