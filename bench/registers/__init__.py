"""Register allocation by divergence: spill code, cycles of a model, and machine code."""
