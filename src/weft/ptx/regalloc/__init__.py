"""Register allocation on PTX itself, instruction for instruction.

`webs` gives every value a name, `liveness` and `intervals` say where it is needed, `linear_scan` and `chordal` decide
which values stay in registers, `places` say where the others go, `reuse` which reloads and stores that needs, and
`rewrite` writes the function. What the values are (uniform, affine) comes from above: see `weft.spill`.
"""
