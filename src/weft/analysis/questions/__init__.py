"""Questions about values in memory, propagated over a function's graph: is it there already, will it be read.

Fukuhara and Takimoto, *Scalar Replacement Considering Branch Divergence* (2021), §4 and §5. `places` says what a
question is about, `graph` who answers, `solution` has the answers to the two questions of §4, `speculation` the one
of §5.2, `regions` where an inserted load adds no divergence.
"""
