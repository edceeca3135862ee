"""Training: the corpus, the evaluation splits and the reward, as pure functions of a seed."""
