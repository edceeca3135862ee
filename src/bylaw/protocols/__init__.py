"""Protocols through which agents are gated that run in other processes: hooks, MCP, gateways."""
