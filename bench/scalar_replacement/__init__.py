"""Scalar replacement by each policy: dynamic loads on the interpreter, CPU time beside off, gcc and clang."""
