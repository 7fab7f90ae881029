"""The cost model: what code is expected to cost in lanes, for choices between ways to make it.

`constants` has the numbers that are guesses or were measured, each in one place; `instructions` has the table of
instructions. `lane_groups` and `regions` estimate, `memory` weighs accesses. Nothing here decides.
"""
