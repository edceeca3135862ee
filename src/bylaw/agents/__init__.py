"""Who acts: chat models, the tool loop around them, and agents that are simulated."""
