"""Rules across runs at the gate: one state for each value of a label, shared by many guards."""
