"""Lookups in tables of bytes, by permutations of registers.

`weft.codegen.widen.tables` makes functions that gather the bytes of a table at numbers of 8 bits. Here they load the
table into registers. With AVX-512 VBMI one instruction looks numbers up in two of 64 bytes, elsewhere one does in 16
bytes, and each bit from the fifth on chooses between halves of what was found. All of the table is there if each page
that it is in is there, so if an active lane looks up a byte of each. Where that is not so they gather. What is read
beyond the table nobody looks at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.analysis.memory.byte_tables import BLOCK
from weft.machine.targets import Isa
from weft.target.rewrites.lane_loop import ACTIVE, lane_loop
from weft.target.rewrites.masked_loops import PAGE

_FUNCTION = re.compile(
    r"^define internal <(?P<n>\d+) x i8> @weft\.lookup\.v(?P=n)\.(?P<blocks>\d)\([^\n]*\n.*?^}\n",
    re.MULTILINE | re.DOTALL,
)

_BEGIN = """\
define internal <{n} x i8> @weft.lookup.v{n}.{blocks}(ptr %table, <{n} x i8> %index, <{n} x i1> %mask) \
alwaysinline nounwind {{
entry:
  %address = ptrtoint ptr %table to i64
  %in.page = and i64 %address, {last_of_page}
  %cut = sub i64 {page}, %in.page
  %is.one.page = icmp uge i64 %cut, {bytes}
  br i1 %is.one.page, label %one, label %two, !prof !{{!"branch_weights", i32 15, i32 1}}
one:
  %set = bitcast <{n} x i1> %mask to i{n}
  %some = icmp ne i{n} %set, 0
  br i1 %some, label %near, label %apart, !prof !{{!"branch_weights", i32 2000, i32 1}}
two:
  %end = trunc i64 %cut to i8
  %one.end = insertelement <{n} x i8> poison, i8 %end, i64 0
  %ends = shufflevector <{n} x i8> %one.end, <{n} x i8> poison, <{n} x i32> zeroinitializer
  %is.second = icmp uge <{n} x i8> %index, %ends
  %second = select <{n} x i1> %mask, <{n} x i1> %is.second, <{n} x i1> zeroinitializer
  %first = select <{n} x i1> %is.second, <{n} x i1> zeroinitializer, <{n} x i1> %mask
  %first.set = bitcast <{n} x i1> %first to i{n}
  %second.set = bitcast <{n} x i1> %second to i{n}
  %some.first = icmp ne i{n} %first.set, 0
  %some.second = icmp ne i{n} %second.set, 0
  %both = and i1 %some.first, %some.second
  br i1 %both, label %near, label %apart
apart:
  %gathered = call <{n} x i8> @weft.lookup.apart.v{n}(ptr %table, <{n} x i8> %index, <{n} x i1> %mask)
  br label %end.of.lookup
near:
"""
_END = """\
  br label %end.of.lookup
end.of.lookup:
  %result = phi <{n} x i8> [ %gathered, %apart ], [ %found, %near ]
  ret <{n} x i8> %result
}}
"""

_APART = (
    """\
define internal <{n} x i8> @weft.lookup.apart.v{n}(ptr %table, <{n} x i8> %index, <{n} x i1> %mask) noinline nounwind {{
entry:
  %numbers = alloca <{n} x i8>
  %data = alloca <{n} x i8>
  store <{n} x i8> %index, ptr %numbers
"""
    + ACTIVE
    + lane_loop("""\
  %in = getelementptr i8, ptr %numbers, i64 %k
  %place = load i8, ptr %in
  %far = zext i8 %place to i64
  %at = getelementptr i8, ptr %table, i64 %far
  %value = load i8, ptr %at
  %to = getelementptr i8, ptr %data, i64 %k
  store i8 %value, ptr %to
""")
    + """\
  %result = load <{n} x i8>, ptr %data
  ret <{n} x i8> %result
}}
"""
)


def with_tables(text: str, isa: Isa) -> str:
    """Return a module's text in which such functions permute registers."""
    if "@weft.lookup." not in text or not (isa.permutes_bytes or isa.shuffles_bytes):
        return text
    used: set[str] = set()
    apart: set[int] = set()

    def replaced(found: re.Match[str]) -> str:
        lanes, blocks = int(found["n"]), int(found["blocks"])
        near = _Near(lanes, blocks, isa)
        used.update(near.declared)
        apart.add(lanes)
        begin = _BEGIN.format(n=lanes, blocks=blocks, page=PAGE, last_of_page=PAGE - 1, bytes=blocks * BLOCK)
        return begin + "".join(f"  {line}\n" for line in near.lines) + _END.format(n=lanes)

    changed = _FUNCTION.sub(replaced, text)
    for lanes in sorted(apart):
        changed += _APART.format(n=lanes, to_index="bitcast" if lanes == 64 else "zext")
        counting = f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1"
        changed += "" if counting in changed else f"{counting} immarg)\n"
    return changed + "".join(f"declare {each}\n" for each in sorted(used))


class _Near:
    """The instructions that look numbers up in registers, and the intrinsics that they need."""

    def __init__(self, lanes: int, blocks: int, isa: Isa) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._names = 0
        self._lanes = lanes
        # Of one register; fewer lanes are the first ones of a register.
        part = BLOCK if isa.permutes_bytes else max(16, min(lanes, isa.vector_bits // 8))
        find = self._by_blocks if isa.permutes_bytes else self._by_sixteens
        parts = [find(self._part(begin, part), part, blocks) for begin in range(0, lanes, part)]
        size = part
        while len(parts) > 1:
            parts = [
                self._shuffled(a, b, size, range(2 * size))
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            size *= 2
        self._add(
            f"shufflevector <{size} x i8> {parts[0]}, <{size} x i8> poison, {_places(range(lanes))}", "%found"
        )

    def _add(self, text: str, name: str = "") -> str:
        self._names += not name
        name = name or f"%n{self._names}"
        self.lines.append(f"{name} = {text}")
        return name

    def _shuffled(self, a: str, b: str, size: int, places: Iterable[int]) -> str:
        return self._add(f"shufflevector <{size} x i8> {a}, <{size} x i8> {b}, {_places(places)}")

    def _part(self, begin: int, size: int) -> str:
        """Numbers of some lanes; those that there are not are 0."""
        places = [min(k, self._lanes) for k in range(begin, begin + size)]
        vector = f"<{self._lanes} x i8>"
        return self._add(f"shufflevector {vector} %index, {vector} zeroinitializer, {_places(places)}")

    def _call(self, name: str, *vectors: str, size: int) -> str:
        type = f"<{size} x i8>"
        self.declared.add(f"{type} @{name}({', '.join([type] * len(vectors))})")
        return self._add(f"call {type} @{name}({', '.join(f'{type} {v}' for v in vectors)})")

    def _by_blocks(self, index: str, size: int, blocks: int) -> str:
        tables = [self._loaded(k * BLOCK, f"<{BLOCK} x i8>") for k in range(blocks)]
        if blocks == 1:
            return self._call("llvm.x86.avx512.permvar.qi.512", tables[0], index, size=size)
        two = "llvm.x86.avx512.vpermi2var.qi.512"
        found = [
            self._call(two, a, index, b, size=size) for a, b in zip(tables[::2], tables[1::2], strict=True)
        ]
        return found[0] if len(found) == 1 else self._chosen(index, size, 7, found[0], found[1])

    def _by_sixteens(self, index: str, size: int, blocks: int) -> str:
        low = self._add(f"and <{size} x i8> {index}, splat (i8 15)")
        shuffle = {
            16: "llvm.x86.ssse3.pshuf.b.128",
            32: "llvm.x86.avx2.pshuf.b",
            64: "llvm.x86.avx512.pshuf.b.512",
        }
        found: list[str] = []
        for k in range(4 * blocks):
            table = self._loaded(16 * k, "<16 x i8>")
            if size > 16:
                table = self._shuffled(table, "poison", 16, [n % 16 for n in range(size)])
            found.append(self._call(shuffle[size], table, low, size=size))
        bit = 4
        while len(found) > 1:
            found = [
                self._chosen(index, size, bit, a, b) for a, b in zip(found[::2], found[1::2], strict=True)
            ]
            bit += 1
        return found[0]

    def _loaded(self, offset: int, type: str) -> str:
        place = self._add(f"getelementptr i8, ptr %table, i64 {offset}")
        return self._add(f"load {type}, ptr {place}, align 1")

    def _chosen(self, index: str, size: int, bit: int, unset: str, set: str) -> str:
        """By a bit of each number."""
        shifted = self._add(f"shl <{size} x i8> {index}, splat (i8 {7 - bit})")
        test = self._add(f"icmp slt <{size} x i8> {shifted}, zeroinitializer")
        return self._add(f"select <{size} x i1> {test}, <{size} x i8> {set}, <{size} x i8> {unset}")


def _places(places: Iterable[int]) -> str:
    numbers = [f"i32 {place}" for place in places]
    return f"<{len(numbers)} x i32> <{', '.join(numbers)}>"
