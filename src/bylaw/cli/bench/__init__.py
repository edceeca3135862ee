"""`bylaw bench`: measures how well models follow procedures."""
