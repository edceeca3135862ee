"""`bylaw train`: training data, warm-up, GRPO, and evaluation."""
