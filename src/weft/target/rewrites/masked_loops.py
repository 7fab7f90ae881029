"""Masked accesses that the processor has no instruction for, as functions of one for each type.

LLVM makes a branch of each lane of them (ScalarizeMaskedMemIntrin). The 64 lanes of a kernel on bytes become hundreds
of blocks for each access, on which the register allocator takes seconds. Gathers and scatters of many lanes are calls
of a function with a loop over active lanes.

Loads from neighbouring places load all of them, where these lie in one page and some lane is active: then that page
is there, and what passive lanes get nobody looks at. Others take the loop. LLVM takes it that no load is larger than
what it leads to, and moves stores to smaller objects across it: what is loaded so is assembly on x86, and a call
elsewhere, of which it does not know how much they read.

Where the mask is a constant, LLVM's own form stays, which has no branches.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.rewrites.lane_loop import ACTIVE, lane_loop

LEAST_LANES = 32
"""Gathers and scatters of fewer lanes are as well as branches."""

PAGE = 4096
"""Bytes: of a page, all can be read or none. Larger pages are made of such."""

_CALL = re.compile(
    r"@llvm\.masked\.(?P<op>gather|scatter)\.v(?P<lanes>\d+)(?P<type>i8|i16|i32|i64|f16|f32|f64|p0)\.v(?P=lanes)p0"
    r"(?=\(.*<(?P=lanes) x i1> %)"
)
_LOAD = re.compile(
    r"@llvm\.masked\.load\.v(?P<lanes>\d+)(?P<type>i8|i16|i32|i64|f16|f32|f64|p0)\.p0(?=\(.*<(?P=lanes) x i1> %)"
)
_NAMES = {"f16": "half", "f32": "float", "f64": "double", "p0": "ptr"}
_NARROW = ("i8", "i16", "f16")
_BYTES = {"i8": 1, "i16": 2, "f16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8, "p0": 8}

_PLACES = """\
  %places = alloca <{n} x ptr>
  %data = alloca <{n} x {t}>
  store <{n} x ptr> %p, ptr %places
"""
_LOOP = ACTIVE + lane_loop("""\
  %in = getelementptr ptr, ptr %places, i64 %k
  %at = load ptr, ptr %in
  %element = getelementptr {t}, ptr %data, i64 %k
  %value = load {t}, ptr %{source}, align 1
  store {t} %value, ptr %{sink}, align 1
""")
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
_MASKS = (2, 4, 8, 16, 32, 64)
"""Lanes whose masks are integers that LLVM has an instruction for, or nearly."""

_NEIGHBOURS = (
    """\
define internal <{n} x {t}> @weft.load.v{n}{m}(ptr %p, <{n} x i1> %mask, <{n} x {t}> %rest.of) alwaysinline nounwind {{
entry:
  %data = alloca <{n} x {t}>
"""
    + ACTIVE
    + """\
  %address = ptrtoint ptr %p to i64
  %offset = and i64 %address, {last_of_page}
  %fits = icmp ule i64 %offset, {last_place}
  %whole = and i1 %any, %fits
  br i1 %whole, label %near, label %apart, !prof !{{!"branch_weights", i32 2000, i32 1}}
near:
{near}  %chosen = select <{n} x i1> %mask, <{n} x {t}> %found, <{n} x {t}> %rest.of
  br label %loaded
apart:
  store <{n} x {t}> %rest.of, ptr %data
"""
    + lane_loop(
        """\
  %at = getelementptr {t}, ptr %p, i64 %k
  %element = getelementptr {t}, ptr %data, i64 %k
  %value = load {t}, ptr %at, align 1
  store {t} %value, ptr %element, align {size}
""",
        before="apart",
    )
    + """\
  %picked = load <{n} x {t}>, ptr %data
  br label %loaded
loaded:
  %result = phi <{n} x {t}> [ %chosen, %near ], [ %picked, %end ]
  ret <{n} x {t}> %result
}}
"""
)

_LOADS = {2: ("i16", "movw", "r"), 4: ("i32", "movl", "r"), 8: ("i64", "movq", "r")}
"""How x86 loads less than a register for vectors: as a number of which type, by what, to what."""

_NEAR = "  %found = call <{n} x {t}> @weft.near.v{n}{m}(ptr %p)\n"
_NEAR_FUNCTION = (
    "define internal <{n} x {t}> @weft.near.v{n}{m}(ptr %p) noinline nounwind willreturn memory(argmem: read) {{\n"
    "  %found = load <{n} x {t}>, ptr %p, align 1\n  ret <{n} x {t}> %found\n}}\n"
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

    def loaded(found: re.Match[str]) -> str:
        lanes, type = int(found["lanes"]), found["type"]
        if lanes not in _MASKS or isa.masks_memory(8 * _BYTES[type]):
            return found[0]
        needed.add(("load", lanes, type))
        return f"@weft.load.v{lanes}{type}"

    changed = _LOAD.sub(loaded, _CALL.sub(replaced, text))
    for lanes in sorted({lanes for _, lanes, _ in needed}):
        counting = f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1"
        changed += "" if counting in changed else f"{counting} immarg)\n"
    missing = (
        each for each in sorted(needed) if f"@weft.{each[0]}.v{each[1]}{each[2]}(" not in _defined(text)
    )
    return changed + "".join(_definition(*each, isa) for each in missing)


def _defined(text: str) -> str:
    """What a text defines of such functions: it may be one that has been made before."""
    return "\n".join(re.findall(r"(?m)^define internal .*$", text))


def _definition(op: str, lanes: int, type: str, isa: Isa) -> str:
    gather, name = op == "gather", _NAMES.get(type, type)
    to_index = "bitcast" if lanes == 64 else "zext"
    if op == "load":
        size = _BYTES[type]
        on_x86 = isa.arch == "x86_64"
        near = (
            _near_on_x86(lanes, name, lanes * size, isa) if on_x86 else _NEAR.format(n=lanes, t=name, m=type)
        )
        function = _NEIGHBOURS.format(
            n=lanes, t=name, m=type, to_index=to_index, size=size, near=near,
            last_of_page=PAGE - 1, last_place=PAGE - lanes * size,
        )  # fmt: skip
        return function if on_x86 else function + _NEAR_FUNCTION.format(n=lanes, t=name, m=type)
    form, source, sink = (_GATHER, "at", "element") if gather else (_SCATTER, "element", "at")
    return form.format(n=lanes, t=name, m=type, source=source, sink=sink, to_index=to_index)


def _near_on_x86(lanes: int, type: str, size: int, isa: Isa) -> str:
    """Lines that load so many bytes, register by register."""
    each = min(size, 32 if isa.vector_bits >= 256 else 16)
    register, load, kind = _LOADS[each] if each < 16 else (f"<{each} x i8>", "movdqu", "x")
    if isa.vector_bits >= 256 and each >= 16:
        load = f"v{load}"
    lines: list[str] = []
    parts: list[str] = []
    for k in range(size // each):
        lines += [
            f"%from.{k} = getelementptr i8, ptr %p, i64 {k * each}",
            f'%part.{k} = call {register} asm "{load} $1, $0", "={kind},*m"(ptr elementtype({register}) %from.{k}) '
            "nounwind willreturn memory(argmem: read)",
        ]
        parts.append(f"%part.{k}")
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        half = f"<{each} x i8>"
        both = f"<{2 * each} x i32> <{', '.join(f'i32 {k}' for k in range(2 * each))}>"
        for k, (low, high) in enumerate(pairs):
            lines.append(f"%joined.{each}.{k} = shufflevector {half} {low}, {half} {high}, {both}")
        parts, each = [f"%joined.{each}.{k}" for k in range(len(pairs))], 2 * each
        register = f"<{each} x i8>"
    whole = f"bitcast {register} {parts[0]} to <{lanes} x"
    if type == "ptr":
        lines += [
            f"%numbers = {whole} i64>",
            f"%found = inttoptr <{lanes} x i64> %numbers to <{lanes} x ptr>",
        ]
    else:
        lines.append(f"%found = {whole} {type}>")
    return "".join(f"  {line}\n" for line in lines)
