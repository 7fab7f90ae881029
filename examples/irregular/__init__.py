"""Kernels of irregular control flow, each on a seeded problem and checked against NumPy or SciPy.

``python -m examples.irregular`` runs them all, ``python -m examples.irregular kd_tree --size 10000`` one of them,
``python -m examples.irregular --statistics`` prints what vectorization made of them (Moll 2021, Fig. 13.1).
"""
