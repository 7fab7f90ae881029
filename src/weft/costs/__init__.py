"""The cost model: what code is expected to cost in lanes, for choices between ways to make it.

`constants` has every number that is a guess or a fit, each with where it is from; `instructions` has the table of
instructions. `lane_groups` and `regions` estimate, `memory` weighs accesses. Nothing here decides.
"""
