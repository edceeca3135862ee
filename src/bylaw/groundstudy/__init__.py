"""The grounding study: do agents read a repository before they answer questions about it?"""
