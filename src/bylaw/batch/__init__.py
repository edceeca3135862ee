"""Many traces at once: a whole corpus scored in bounded memory, on all cores."""
