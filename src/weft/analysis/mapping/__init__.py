"""How a nest of sequential loops maps to a grid, and what its accesses cost there (Juravle, chapter 5).

`grid` has the mappings, `lines` counts lines of memory, `coalescing` does so for warps and lane groups, `banks` for
shared memory, `work` counts bytes and floating-point operations, `two_dimensional` finds rows in linear offsets,
`sharing` what belongs in shared memory, `grouping` puts such areas together, `choice` takes the best mapping.
"""
