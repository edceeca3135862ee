"""The reward of a rollout: pure functions of its trace and answer."""
