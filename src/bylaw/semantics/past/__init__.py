"""Rules about the past, decided at each event from what they remember."""
