"""Scalar replacement by question propagation: loads whose values are known already, within and across iterations.

Fukuhara and Takimoto, *Scalar Replacement Considering Branch Divergence* (2021). `replacement` is the pass, `policy`
its four forms, `weft.analysis.questions` has the analysis.
"""
