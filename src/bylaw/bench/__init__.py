"""The benchmark: twelve procedures at five difficulties, and a runner that can be resumed."""
