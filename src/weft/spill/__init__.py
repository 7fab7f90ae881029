"""Divergence-aware register allocation of PTX (Sampaio et al. §4): the half that needs analyses.

`facts` are what is known of a kernel's values, `convergence` where its threads are together, `policies` which place a
spilled value gets, `kernel` allocates one kernel, and `module` all of a module. The other half is `weft.ptx.regalloc`.
"""
