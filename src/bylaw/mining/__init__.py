"""Rules from recorded runs: what good runs keep and bad runs break."""
