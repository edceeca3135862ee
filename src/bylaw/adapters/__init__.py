"""Where others let us in: one small file per framework. An adapter translates and nothing else."""
