"""Questions about repositories: chosen, checked and stored."""
