"""The grounding study: do agents that answer questions about a repository read it first?"""
