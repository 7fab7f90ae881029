"""Mathematics of weft's own: vector functions of single precision, as LLVM IR that becomes part of the code.

A library's function is a call: all vectors are on the stack meanwhile, and code for another machine cannot know whether
the library is there. These are inlined, need nothing, and are as fast or faster (`docs/performance.md`). Their
coefficients are from `bench.fits.polynomials`.

Widening calls them by symbol like those of a library; `with_definitions` adds what they do to the text that LLVM gets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.machine.targets import Isa
from weft.target.own_math.functions import FUNCTIONS, OwnFunction
from weft.target.own_math.writing import Lines

_PREFIX = "weft.math."
_FLUSHED = "flushed_"
_MASKED = "masked_"
_SYMBOL = re.compile(r"weft\.math\.(\w+)\.v(\d+)f32")
_DECLARATION = re.compile(r"^declare [^\n]*@(weft\.math\.[\w.]+)\([^\n]*$", re.MULTILINE)
_ABOVE_SUBNORMAL = -(2**23)
_HARDLY = '!{!"branch_weights", i32 1, i32 2000}'
"""Else LLVM makes choices of branches, and the mask is waited for again."""
_ATTRIBUTES = "nounwind willreturn memory(none)"


def own_symbol(name: str, bits: int, lanes: int) -> str | None:
    """The symbol of a function of weft's own, None where there is none."""
    if bits != 32 or name not in FUNCTIONS:
        return None
    return f"{_PREFIX}{name}.v{lanes}f32"


def flushed_symbol(name: str, lanes: int, isa: Isa) -> str | None:
    """The symbol of the function that has zero for subnormal results; None where that is no faster."""
    if FUNCTIONS[name].flushed is None or not Lines(isa, lanes).has_parts:
        return None
    return f"{_PREFIX}{_FLUSHED}{name}.v{lanes}f32"


def masked_symbol(name: str, lanes: int, isa: Isa) -> str | None:
    """The symbol of the function that is told which lanes are on; None where it does not matter.

    Its last argument is an integer of 32 bits in each lane, negative where that is on. The C library is asked for
    these alone. The others have an ordinary argument where there is an odd or a subnormal one, which a branch asks:
    else nothing depends on the mask, and a loop that lanes leave one by one need not wait for it.
    """
    return f"{_PREFIX}{_MASKED}{name}.v{lanes}f32" if has_odd_arguments(name, lanes, isa) else None


def is_own(symbol: str) -> bool:
    """Whether a vector math function is one of weft's own, which code has in it."""
    return symbol.startswith(_PREFIX)


def has_odd_arguments(name: str, lanes: int, isa: Isa) -> bool:
    """Whether there are arguments for which a function asks the C library, which takes longer."""
    function = FUNCTIONS[name]
    return function.odd(Lines(isa, lanes), *_arguments(function)) is not None


def _arguments(function: OwnFunction) -> tuple[str, ...]:
    return ("%x", "%y")[: function.arguments]


def with_definitions(text: str, isa: Isa) -> str:
    """Return a module's text with definitions for what it declares of them."""
    if _PREFIX not in text:
        return text
    needed: dict[str, str] = {}

    def define(declaration: re.Match[str]) -> str:
        found = _SYMBOL.fullmatch(declaration[1])
        assert found is not None
        return _definition(declaration[1], found[1], int(found[2]), isa, needed)

    text = _DECLARATION.sub(define, text)
    missing = [line for name, line in needed.items() if f" @{name}(" not in _declarations(text)]
    return "\n".join([text, *missing, ""])


def _declarations(text: str) -> str:
    return "\n".join(re.findall(r"^(?:declare|define) .*$", text, re.MULTILINE))


def _definition(symbol: str, name: str, lanes: int, isa: Isa, needed: dict[str, str]) -> str:
    plain = name.removeprefix(_FLUSHED).removeprefix(_MASKED)
    function, w = FUNCTIONS[plain], Lines(isa, lanes)
    arguments = _arguments(function)
    parameters = _typed(w, arguments)
    if name.startswith(_FLUSHED):
        assert function.flushed is not None
        result = function.flushed(w, *arguments)
        needed |= w.declared
        return _function(symbol, w, parameters, "alwaysinline", result)
    if not has_odd_arguments(plain, lanes, isa):
        result, slow = function.write(w, *arguments), ""
    else:
        if name.startswith(_MASKED):
            given = [f"{a}.given" for a in arguments]
            parameters = f"{_typed(w, given)}, {w.integers} %on"
            start, mask = "%start", _tame(w, function, arguments, given)
            result = function.write(w, *arguments)
        else:
            result = function.write(w, *arguments)
            odd = function.odd(w, *arguments)
            assert odd is not None
            start, mask = "%entry", _bits(w, odd)
        result = _choose(w, symbol, mask, [*arguments, result], start)
        slow = (
            _careful(symbol, function, isa, lanes, needed)
            if function.careful
            else _of_library(w, symbol, plain, arguments)
        )
    needed |= w.declared
    return _function(symbol, w, parameters, "alwaysinline", result) + slow


def _typed(w: Lines, values: Sequence[str]) -> str:
    return ", ".join(f"{w.floats} {value}" for value in values)


def _function(symbol: str, w: Lines, parameters: str, attributes: str, result: str) -> str:
    body = "\n".join(w.text)
    head = f"define internal {w.floats} @{symbol}({parameters}) {attributes} {_ATTRIBUTES}"
    return f"{head} {{\nentry:\n{body}\n  ret {w.floats} {result}\n}}\n"


def _tame(w: Lines, function: OwnFunction, arguments: Sequence[str], given: Sequence[str]) -> str:
    """Where an argument is odd or subnormal, give lanes that are off ordinary ones; the bits of odd lanes.

    Processors take long for each operation with a subnormal number, and lanes that have left a loop may keep one for
    all the others' iterations. It is asked by a branch: what is computed does not wait for the mask.
    """
    # Lanes that are off may be poison, by which no branch may go.
    known = [w.line(f"freeze {w.floats} {g}") for g in given]
    odd = function.odd(w, *known)
    assert odd is not None
    strange = odd
    for i in function.long_for_subnormal:
        # Less one, zero is the greatest of all.
        size = w.integers_of("and", w.bits(known[i]), w.integer(2**31 - 1))
        part = w.integers_of("and", w.integers_of("add", size, w.integer(-1)), w.integer(_ABOVE_SUBNORMAL))
        is_subnormal = w.line(f"icmp eq {w.integers} {part}, zeroinitializer")
        strange = w.line(f"or {w.bools} {strange}, {is_subnormal}")
    any_strange = w.line(f"icmp ne i{w.lanes} {_bits(w, strange)}, 0")
    w.text += [f"  br i1 {any_strange}, label %tame, label %start, !prof {_HARDLY}", "tame:"]
    on = w.line(f"icmp slt {w.integers} %on, zeroinitializer")
    there = _bits(w, w.line(f"select {w.bools} {on}, {w.bools} {odd}, {w.bools} zeroinitializer"))
    tamed = [w.select(on, g, w.float(1.0)) for g in given]
    w.text += [
        "  br label %start",
        "start:",
        f"  %odd = phi i{w.lanes} [ 0, %entry ], [ {there}, %tame ]",
        *(
            f"  {a} = phi {w.floats} [ {g}, %entry ], [ {t}, %tame ]"
            for a, g, t in zip(arguments, given, tamed, strict=True)
        ),
    ]
    return "%odd"


def _bits(w: Lines, lanes: str) -> str:
    return w.line(f"bitcast {w.bools} {lanes} to i{w.lanes}")


def _choose(w: Lines, symbol: str, mask: str, values: Sequence[str], start: str) -> str:
    """The result, which is the last of the values, or what the slow function says where an argument is odd."""
    v, lanes = w.floats, w.lanes
    any_odd = w.line(f"icmp ne i{lanes} {mask}, 0")
    any_odd = w.call("llvm.expect.i1", "i1", f"i1 {any_odd}", "i1 false")
    w.text += [
        f"  br i1 {any_odd}, label %slow, label %done",
        "slow:",
        f"  %elsewhere = call {v} @{symbol}.slow({_typed(w, values)}, i{lanes} {mask})",
        "  br label %done",
        "done:",
        f"  %chosen = phi {v} [ {values[-1]}, {start} ], [ %elsewhere, %slow ]",
    ]
    return "%chosen"


def _careful(symbol: str, function: OwnFunction, isa: Isa, lanes: int, needed: dict[str, str]) -> str:
    """The slow function: for all lanes in another way."""
    assert function.careful is not None
    w, arguments = Lines(isa, lanes), _arguments(function)
    result = function.careful(w, *arguments)
    needed |= w.declared
    parameters = f"{_typed(w, (*arguments, '%fast'))}, i{lanes} %mask"
    return _function(f"{symbol}.slow", w, parameters, "alwaysinline", result)


def _of_library(w: Lines, symbol: str, name: str, arguments: Sequence[str]) -> str:
    """The slow function: lanes with odd arguments have what the C library says."""
    v, lanes = w.floats, w.lanes
    w.declared[f"{name}f"] = f"declare float @{name}f({', '.join(['float'] * len(arguments))}) {_ATTRIBUTES}"
    parts = "\n".join(f"  {a}.lane = extractelement {v} {a}, i32 %i" for a in arguments)
    given = ", ".join(f"float {a}.lane" for a in arguments)
    return f"""
define internal {v} @{symbol}.slow({_typed(w, (*arguments, "%fast"))}, i{lanes} %mask) noinline cold {_ATTRIBUTES} {{
entry:
  br label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %next, %end ]
  %left = phi i{lanes} [ %mask, %entry ], [ %rest, %end ]
  %so.far = phi {v} [ %fast, %entry ], [ %after, %end ]
  %this = trunc i{lanes} %left to i1
  br i1 %this, label %call, label %end
call:
{parts}
  %other = call float @{name}f({given})
  %inserted = insertelement {v} %so.far, float %other, i32 %i
  br label %end
end:
  %after = phi {v} [ %inserted, %call ], [ %so.far, %lane ]
  %rest = lshr i{lanes} %left, 1
  %next = add i32 %i, 1
  %more = icmp ne i{lanes} %rest, 0
  br i1 %more, label %lane, label %out
out:
  ret {v} %after
}}
"""


__all__ = [
    "FUNCTIONS",
    "OwnFunction",
    "flushed_symbol",
    "has_odd_arguments",
    "is_own",
    "masked_symbol",
    "own_symbol",
    "with_definitions",
]
