"""The Python of a library: a module that calls it, and needs nothing but NumPy."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

from weft.aot.interface import FUNCTION, KERNEL, UFUNC, Export, Parameter


def stub(exports: Sequence[Export], library: str, source: str, stem: str) -> str:
    """The text of the module; functions of C are not in it, as nothing tells what their pointers lead to."""
    lines = [_made(export) for export in exports if export.kind in (KERNEL, FUNCTION)]
    loops: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for export in exports:
        if export.kind == UFUNC:
            types = tuple(p.dtype for p in export.parameters)
            loops.setdefault(export.declaration, []).append((f"weft_ufunc_{export.name}", types))
    lines += [f"{name} = _ufunc({name!r}, {found!r})" for name, found in loops.items()]
    if any(export.prints for export in exports):
        lines.insert(0, f"_library.{stem}_print_to(_printer)")
    template = string.Template(Path(__file__).with_name("stub.py.txt").read_text())
    return template.substitute(
        title=f"Kernels and functions of {library}.", source=source, library=library, exports="\n".join(lines)
    )


def _made(export: Export) -> str:
    parameters = [_parameter(p) for p in export.parameters]
    if export.kind == KERNEL:
        return f"{export.name} = _Kernel({export.name!r}, {parameters!r})"
    results = [_parameter(p) for p in export.results]
    how = f"{export.returns_tuple!r}, {export.returned!r}, {export.fails!r}, {export.errors!r}"
    return f"{export.name} = _Function({export.name!r}, {parameters!r}, {results!r}, {how})"


def _parameter(p: Parameter) -> tuple[object, ...]:
    # Of a tuple its items instead.
    slots = (
        tuple((s.ctype, s.role, s.dimension) for s in p.slots)
        if p.ndim != -4
        else tuple(map(_parameter, p.items))
    )
    return p.name, p.dtype, p.ndim, p.contiguous, p.readonly, slots
