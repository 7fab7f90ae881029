"""Functions in OpenCL C that kernels call, as text."""

from __future__ import annotations


def _adding(kind: str, bits: str, compare: str) -> str:
    return f"""static void add_{kind}(volatile global {kind} *place, {kind} x) {{
  union {{ {kind} number; {bits} bits; }} before, after;
  do {{
    before.number = *place;
    after.number = before.number + x;
  }} while ({compare}((volatile global {bits} *)place, before.bits, after.bits) != before.bits);
}}
"""


HELPERS = {
    "float": _adding("float", "uint", "atomic_cmpxchg"),
    "double": _adding("double", "ulong", "atom_cmpxchg"),
}
"""Atomic sums, by the type of what is added."""
