"""A formula as a deterministic machine, and the engines that follow one."""
