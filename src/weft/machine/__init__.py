"""Data about machines: instruction sets, registers, costs, vector math libraries."""
