"""Machine code at ptxas's least number of registers: accesses to local and shared memory, ours against its own.

Each kernel is assembled with ``.maxnreg 24``: as it is, with ``.pragma "enable_smem_spilling"``, and after allocation
here. ptxas has other instructions, and may need more registers than PTX shows (the stack, addresses) or fewer
(parameters, constants), and spills what is still too much. So allocation here is tried with several numbers, and the
version with the fewest local accesses counts, of these the one with the fewest shared ones. Kernels from elsewhere are
assumed to be launched with 256 threads.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.diag.errors import WeftError
from weft.machine.cuda_tools import find_program
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.syntax import Directive, Function, Module, Pragma
from weft.ptx.writer import write_module
from weft.spill.kernel import Kernel
from weft.spill.module import chosen, with_kernels
from weft.spill.policies import Policy
from weft.spill.settings import Settings

LEAST = 24
"""Registers below which ptxas does not go on sm_75 and sm_90."""
_BUDGETS = (24, 30, 36)
_COUNTED = re.compile(r"\b(LDL|STL|LDS|STS)\b")
_BLOCK = (256, 1, 1)


@dataclass(frozen=True, slots=True)
class Assembled:
    """What ptxas made: accesses by instruction, bytes that it spilled itself, registers."""

    accesses: Counter[str]
    spilled: int
    registers: int

    @property
    def local(self) -> int:
        """Instructions that access local memory."""
        return self.accesses["LDL"] + self.accesses["STL"]

    @property
    def shared(self) -> int:
        """Instructions that access shared memory."""
        return self.accesses["LDS"] + self.accesses["STS"]


def assemble(text: str, arch: str) -> Assembled:
    """Assemble and disassemble a module of one kernel.

    Raises
    ------
    ValueError
        ptxas refuses it.
    """
    ptxas, nvdisasm = find_program("ptxas"), find_program("nvdisasm")
    assert ptxas is not None and nvdisasm is not None, "ptxas and nvdisasm are needed"
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(text)
        made = subprocess.run(
            [ptxas, f"-arch={arch}", "-v", source, "-o", out], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise ValueError(made.stderr.strip()[-400:])
        listing = subprocess.run([nvdisasm, "-c", out], capture_output=True, text=True, check=True).stdout
    counts = Counter(_COUNTED.findall(listing))
    spills = sum(int(n) for n in re.findall(r"(\d+) bytes spill (?:stores|loads)", made.stderr))
    used = re.search(r"Used (\d+) registers", made.stderr)
    return Assembled(counts, spills, int(used.group(1)) if used else 0)


def alone(module: Module, function: Function, *, pragma: bool = False) -> str:
    """A module with one kernel, at ptxas's least."""
    kept = tuple(d for d in function.directives if d.name not in ("maxnreg", "minnctapersm"))
    body = list(function.body or ())
    if pragma:
        body.insert(0, Pragma(("enable_smem_spilling",)))
    made = dataclasses.replace(function, directives=(*kept, Directive("maxnreg", (LEAST,))), body=body)
    items = [
        made if getattr(item, "name", None) == function.name else item
        for item in module.body
        if not getattr(item, "entry", False) or getattr(item, "name", None) == function.name
    ]
    return write_module(dataclasses.replace(module, body=items))


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel in each version."""

    kernel: str
    arch: str
    pressure: int
    versions: dict[str, Assembled]
    budgets: dict[str, int]


def compare(module: Module, name: str, arch: str, policies: tuple[str, ...]) -> Row | None:
    """All versions of a kernel; None where ptxas does not spill."""
    source = next(f for f in module.entries() if f.name == name)
    sized = _sized(source)
    plain = assemble(alone(module, sized), arch)
    if not plain.spilled:
        return None
    versions = {"ptxas": plain, "ptxas smem": assemble(alone(module, sized, pragma=True), arch)}
    budgets: dict[str, int] = {}
    block = None if source.directive("reqntid") is not None else _BLOCK
    kernel = Kernel.of(module, name, arch=arch, block=block)
    for policy in policies:
        best: tuple[tuple[int, int], Assembled, int] | None = None
        for budget in _BUDGETS:
            if budget >= kernel.pressure:
                continue
            made = chosen(kernel, Settings(budget, Policy(policy), arch, block))
            whole = with_kernels(module, {name: made})
            function = next(f for f in whole.entries() if f.name == name)
            found = assemble(alone(whole, function), arch)
            key = (found.local, found.shared)
            if best is None or key < best[0]:
                best = key, found, budget
        if best is not None:
            versions[policy], budgets[policy] = best[1], best[2]
    return Row(name, arch, kernel.pressure, versions, budgets)


def as_json(row: Row) -> dict[str, Any]:
    """A row as it is kept."""
    versions = {name: dict(made.accesses) for name, made in row.versions.items()}
    return {"kernel": row.kernel, "pressure": row.pressure, "versions": versions, "budgets": row.budgets}


def _sized(source: Function) -> Function:
    """The kernel for blocks of the size that is assumed."""
    if source.directive("reqntid") is not None:
        return source
    kept = tuple(d for d in source.directives if d.name != "maxntid")
    return dataclasses.replace(source, directives=(*kept, Directive("reqntid", _BLOCK)))


def kernels_in(folder: Path, least: int, most: int) -> Iterator[tuple[Module, str]]:
    """Kernels of a folder's modules whose pressure exceeds ptxas's least; at most one of each file."""
    from weft.ptx.flow import flow_of
    from weft.ptx.regalloc.intervals import pressure_of
    from weft.ptx.regalloc.liveness import liveness_of
    from weft.ptx.regalloc.sizes import register_words
    from weft.ptx.regalloc.webs import renamed_webs

    for file in sorted(folder.glob("*.ptx")):
        if file.stat().st_size > 600_000:
            continue
        try:
            module = read_module(file.read_text(), file.name)
            check_module(module)
        except WeftError:
            continue
        for source in module.entries():
            count = sum(1 for _ in source.instructions())
            if not 40 <= count <= most:
                continue
            function = renamed_webs(source)
            if pressure_of(liveness_of(flow_of(function)), register_words(function)).words > least:
                yield module, source.name
                break
