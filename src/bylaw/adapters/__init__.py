"""Adapters to agent frameworks. An adapter translates and nothing else: it holds no policy."""
