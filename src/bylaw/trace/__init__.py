"""What happened: calls, messages, the answer, and the records that hold them."""
