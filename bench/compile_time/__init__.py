"""What compiling takes as programs grow: generated programs that could make a pass take the square, or double.

`text` writes one program in Python or C, `families` are the programs, `doors` compile them.
"""
