"""Masked stores that ask first whether all lanes of a register store, on cores where such stores are slow.

On AMD's cores a store of 256 bits under a mask in a vector register is microcode, which takes 12 cycles or more
whatever the mask says (`slow_masked_stores` of `weft.machine.cores`). Masks of edges, and of most branches, are full or
empty for most registers, and the processor foresees which; so each register of such a store becomes::

    if all lanes: a plain store
    else if any lane: the masked store

Measured on Zen 3, one store of eight floats: 4.1 ns; asked first 1.0 ns with all lanes, 0.8 with none, 1.2 where
registers are full or empty by chance, and 4.4 where lanes are.

The shared memory of a work-group is written by one thread of the processor at a time, and has as much beside it as a
register: no lane is further from one that stores. So there all lanes store if one does, what they find where they do
not, and nothing is microcode::

    if any lane: load, blend, and a plain store

A sum of 256 numbers whose threads with ``t % (2 * w) == 0`` add took 9.7 us on Zen 3, and takes 4.6 us so.

Where the mask is a constant, LLVM's own form stays, which has no branches. The stores ask for no alignment, as those
of members of packed structures have none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from weft.machine.targets import Isa

_CALL = re.compile(
    r"@llvm\.masked\.store\.v(?P<lanes>\d+)(?P<type>i32|i64|f32|f64|p0)\.p(?P<space>0|3)(?=\(.*<(?P=lanes) x i1> %)"
)
_NAMES = {"f32": "float", "f64": "double", "p0": "ptr"}
_BITS = {"i32": 32, "f32": 32, "i64": 64, "f64": 64, "p0": 64}
MOST_REGISTERS = 8
"""Stores of more registers stay as they are, as this is much code."""

_BEGIN = """\
define internal void @{name}(<{n} x {t}> %values, {pointer} %p, <{n} x i1> %mask) alwaysinline nounwind {{
entry:
  br label %ask.0
"""
_ASK = """\
ask.{k}:
  %some.{k} = shufflevector <{n} x i1> %mask, <{n} x i1> poison, <{w} x i32> <{picked}>
  %lanes.{k} = freeze <{w} x i1> %some.{k}
  %bits.{k} = bitcast <{w} x i1> %lanes.{k} to i{w}
  %data.{k} = shufflevector <{n} x {t}> %values, <{n} x {t}> poison, <{w} x i32> <{picked}>
  %at.{k} = getelementptr {t}, {pointer} %p, i64 {first}
"""
_REGISTER = """\
  %all.{k} = icmp eq i{w} %bits.{k}, -1
  br i1 %all.{k}, label %whole.{k}, label %less.{k}
whole.{k}:
  store <{w} x {t}> %data.{k}, ptr %at.{k}, align 1
  br label %ask.{next}
less.{k}:
  %none.{k} = icmp eq i{w} %bits.{k}, 0
  br i1 %none.{k}, label %ask.{next}, label %part.{k}
part.{k}:
  call void @llvm.masked.store.v{w}{m}.p0(<{w} x {t}> %data.{k}, ptr align 1 %at.{k}, <{w} x i1> %lanes.{k})
  br label %ask.{next}
"""
_SHARED_REGISTER = """\
  %none.{k} = icmp eq i{w} %bits.{k}, 0
  br i1 %none.{k}, label %ask.{next}, label %some.lanes.{k}
some.lanes.{k}:
  %found.{k} = load <{w} x {t}>, {pointer} %at.{k}, align 1
  %blend.{k} = select <{w} x i1> %lanes.{k}, <{w} x {t}> %data.{k}, <{w} x {t}> %found.{k}
  store <{w} x {t}> %blend.{k}, {pointer} %at.{k}, align 1
  br label %ask.{next}
"""
_END = """\
ask.{last}:
  ret void
}}
"""


class _Store(NamedTuple):
    """A masked store: how many lanes of which type, and in which address space."""

    lanes: int
    type: str
    space: int

    @property
    def function(self) -> str:
        """What does it."""
        return f"weft.store{'.shared' if self.space else ''}.v{self.lanes}{self.type}"


def asks_before_stores(isa: Isa) -> bool:
    """Whether a processor is better asked so."""
    return (
        isa.arch == "x86_64" and isa.masked_memory and not isa.mask_registers and isa.core.slow_masked_stores
    )


def with_whole_stores(text: str, isa: Isa) -> str:
    """Return a module's text in which masked stores ask first, if `isa` is of a core that wants that."""
    if not asks_before_stores(isa) or "@llvm.masked.store." not in text:
        return text
    needed: set[_Store] = set()

    def replaced(found: re.Match[str]) -> str:
        store = _Store(int(found["lanes"]), found["type"], int(found["space"]))
        width = isa.lanes(_BITS[store.type])
        if store.lanes % width or store.lanes // width > MOST_REGISTERS:
            return found[0]
        needed.add(store)
        return f"@{store.function}"

    lines = (
        line if line.startswith("declare ") else _CALL.sub(replaced, line) for line in text.splitlines(True)
    )
    changed = "".join(lines)
    for width, type in sorted({(isa.lanes(_BITS[s.type]), s.type) for s in needed if not s.space}):
        declaration = f"declare void @llvm.masked.store.v{width}{type}.p0("
        if declaration not in changed:
            name = _NAMES.get(type, type)
            changed += f"{declaration}<{width} x {name}>, ptr captures(none), <{width} x i1>)\n"
    # A text that has been made before has some of them.
    missing = (s for s in sorted(needed) if f"define internal void @{s.function}(" not in text)
    return changed + "".join(_definition(store, isa.lanes(_BITS[store.type])) for store in missing)


def _definition(store: _Store, width: int) -> str:
    lanes, pointer = store.lanes, "ptr addrspace(3)" if store.space else "ptr"
    name = _NAMES.get(store.type, store.type)
    text = _ASK + (_SHARED_REGISTER if store.space else _REGISTER)
    registers = "".join(
        text.format(
            n=lanes, w=width, t=name, m=store.type, k=k, next=k + 1, first=k * width, pointer=pointer,
            picked=", ".join(f"i32 {lane}" for lane in range(k * width, (k + 1) * width)),
        )
        for k in range(lanes // width)
    )  # fmt: skip
    begin = _BEGIN.format(name=store.function, n=lanes, t=name, pointer=pointer)
    return begin + registers + _END.format(last=lanes // width)
