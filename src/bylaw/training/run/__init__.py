"""Training runs: warm-up, GRPO, evaluation, and their tables."""
