"""Masked gathers and scatters of many lanes that the processor has no instruction for, as loops over active lanes.

LLVM makes a branch of each lane of them (ScalarizeMaskedMemIntrin). The 64 lanes of a kernel on bytes become hundreds
of blocks for each access, on which the register allocator takes seconds. A function with a loop is made instead, one
for each type; where the mask is a constant, LLVM's own form stays, which has no branches.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa

LEAST_LANES = 32
"""Fewer lanes are as well as branches."""

_CALL = re.compile(
    r"@llvm\.masked\.(?P<op>gather|scatter)\.v(?P<lanes>\d+)(?P<type>i8|i16|i32|i64|f16|f32|f64|p0)\.v(?P=lanes)p0"
    r"(?=\(.*<(?P=lanes) x i1> %)"
)
_NAMES = {"f16": "half", "f32": "float", "f64": "double", "p0": "ptr"}
_NARROW = ("i8", "i16", "f16")

_PLACES = """\
  %places = alloca <{n} x ptr>
  %data = alloca <{n} x {t}>
  store <{n} x ptr> %p, ptr %places
"""
_LOOP = """\
  %set = bitcast <{n} x i1> %mask to i{n}
  %any = icmp ne i{n} %set, 0
  br i1 %any, label %lane, label %end
lane:
  %left = phi i{n} [ %set, %entry ], [ %rest, %lane ]
  %number = call i{n} @llvm.cttz.i{n}(i{n} %left, i1 true)
  %k = {to_index} i{n} %number to i64
  %in = getelementptr ptr, ptr %places, i64 %k
  %at = load ptr, ptr %in
  %element = getelementptr {t}, ptr %data, i64 %k
  %value = load {t}, ptr %{source}, align 1
  store {t} %value, ptr %{sink}, align 1
  %less = sub i{n} %left, 1
  %rest = and i{n} %left, %less
  %more = icmp ne i{n} %rest, 0
  br i1 %more, label %lane, label %end
end:
"""
_GATHER = (
    "define internal <{n} x {t}> @weft.gather.v{n}{m}(<{n} x ptr> %p, <{n} x i1> %mask, <{n} x {t}> %rest.of) "
    "noinline nounwind {{\nentry:\n" + _PLACES + _LOOP + "  %result = load <{n} x {t}>, ptr %data\n"
    "  ret <{n} x {t}> %result\n}}\n"
)
_SCATTER = (
    "define internal void @weft.scatter.v{n}{m}(<{n} x {t}> %values, <{n} x ptr> %p, <{n} x i1> %mask) "
    "noinline nounwind {{\nentry:\n"
    + _PLACES
    + "  store <{n} x {t}> %values, ptr %data\n"
    + _LOOP
    + "  ret void\n}}\n"
)


def with_masked_loops(text: str, isa: Isa) -> str:
    """Return a module's text in which such accesses are calls of functions with a loop."""
    needed: set[tuple[str, int, str]] = set()

    def replaced(found: re.Match[str]) -> str:
        op, lanes, type = found["op"], int(found["lanes"]), found["type"]
        has_instruction = isa.gather if op == "gather" else isa.scatter
        if lanes < LEAST_LANES or (has_instruction and type not in _NARROW):
            return found[0]
        needed.add((op, lanes, type))
        return f"@weft.{op}.v{lanes}{type}"

    changed = _CALL.sub(replaced, text)
    for lanes in sorted({lanes for _, lanes, _ in needed}):
        counting = f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1"
        changed += "" if counting in changed else f"{counting} immarg)\n"
    return changed + "".join(_definition(*each) for each in sorted(needed))


def _definition(op: str, lanes: int, type: str) -> str:
    gather = op == "gather"
    form, source, sink = (_GATHER, "at", "element") if gather else (_SCATTER, "element", "at")
    to_index = "bitcast" if lanes == 64 else "zext"
    return form.format(n=lanes, t=_NAMES.get(type, type), m=type, source=source, sink=sink, to_index=to_index)
