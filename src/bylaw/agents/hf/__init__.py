"""Local transformers models: chat turns, batched rollouts, constrained decoding."""
