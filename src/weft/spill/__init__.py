"""Divergence-aware register allocation of PTX (Sampaio et al. §4): the half that needs analyses.

`facts` are what is known of a kernel's values, `convergence` where its threads are together, `kernel` is both, with all
else that policies need. `policies` say which kind of place a spilled value gets, `placing` where it is; `allocation`
decides for one kernel, `writing` writes it, and `module` does so for a module. The other half is `weft.ptx.regalloc`.
"""
