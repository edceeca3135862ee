"""Agents: chat models, the tool loop around them, and simulated agents."""
