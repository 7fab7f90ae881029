"""Work-group kernels: shared memory, barriers and atomics at work, each checked against NumPy or SciPy.

``python -m examples.workgroups`` runs them all, ``python -m examples.workgroups scan --size 1000`` one of them.
"""
