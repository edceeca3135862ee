"""The command line. A command parses, calls one library function, renders, and exits.

Exit codes: 0 all satisfied, 1 something violated, 2 the input could not be used.
"""
