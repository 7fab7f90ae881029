"""Register allocation on PTX itself, instruction for instruction."""
