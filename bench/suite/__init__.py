"""Further rows for the table of speeds: dense loops, irregular ones, and bytes, by the harness of `bench.speed`.

``python -m bench.suite`` runs all rows, ``python -m bench.suite sobel life --rounds 15`` some of them, and
``python -m bench.suite --widths`` compares the width that weft chooses with the others.
"""
