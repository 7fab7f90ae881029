"""What a pass is, the one runner, and the lists of passes as data.

`declared` and `runner` know nothing of what passes do; passes are declared in the rooms that hold them (as
`weft.codegen.lanes.lane_passes`), and put in order in `kernels`, `loops` and `foreign`. `catalog` finds them by name.
"""
