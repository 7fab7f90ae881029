"""Questions that are propagated over a function's graph: is a load's value there already, will its address be read?

Fukuhara and Takimoto, *Scalar Replacement Considering Branch Divergence* (2021), §4 and §5. `places` says what a question
is about, `availability` and `anticipation` answer the two questions of §4, `speculation` the one of §5.2, `regions` where
an inserted load adds no divergence.
"""
