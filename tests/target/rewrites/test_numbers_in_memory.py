"""Lanes look up at numbers that are read from memory one by one, and find what they did."""

import ctypes

import numpy as np
import pytest

import weft
from weft.machine.host import chosen
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import PassList
from weft.target.rewrites.numbers_in_memory import with_numbers_in_memory

NONE = PassList("none", ("verify",))

LANES = "\n".join(
    f"""  %n{k} = extractelement <4 x i32> %wide, i64 {k}
  %w{k} = sext i32 %n{k} to i64
  %at{k} = getelementptr i32, ptr %table, i64 %w{k}
  %v{k} = load i32, ptr %at{k}, align 4
  %r{k} = insertelement <4 x i32> {f"%r{k - 1}" if k else "poison"}, i32 %v{k}, i64 {k}"""
    for k in range(4)
)

LOOK_UP = f"""
define void @f(ptr noalias %table, ptr noalias %given, ptr noalias %out) {{
  %x = load <4 x i8>, ptr %given, align 1
  %wide = sext <4 x i8> %x to <4 x i32>
{LANES}
  store <4 x i32> %r3, ptr %out, align 4
  ret void
}}
"""

INTERLEAVED = LOOK_UP.replace(
    "  %wide = sext <4 x i8> %x to",
    """  %more = getelementptr i8, ptr %given, i64 4
  %y = load <4 x i8>, ptr %more, align 1
  %both = shufflevector <4 x i8> %x, <4 x i8> %y, <4 x i32> <i32 6, i32 1, i32 7, i32 2>
  %wide = sext <4 x i8> %both to""",
)


def results(text: str) -> list[int]:
    code = load_object(emit_object(text, TargetSpec.chosen(), NONE), ["f"])
    function = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3)(code.address("f"))
    table = np.arange(256, dtype=np.int32) * 7
    given = np.array([-3, 100, 5, -128, 127, 9, -77, 0], np.int8)
    made = np.zeros(4, np.int32)
    function(table[128:].ctypes.data, given.ctypes.data, made.ctypes.data)
    return made.tolist()


def test_lanes_read_their_numbers() -> None:
    changed = with_numbers_in_memory(LOOK_UP, chosen().isa)
    assert changed is not None and "extractelement" not in changed and changed.count("load i8") == 4
    assert results(changed) == results(LOOK_UP) == [7 * (128 + k) for k in (-3, 100, 5, -128)]


def test_numbers_of_two_loads_are_found() -> None:
    eight = INTERLEAVED.replace("  store <4 x i32> %r3", "\n".join(_others()) + "\n  store <4 x i32> %r3")
    changed = with_numbers_in_memory(eight, chosen().isa)
    assert changed is not None and changed.count("load i8") == 8
    assert results(changed) == results(eight) == [7 * (128 + k) for k in (-77, 100, 0, 5)]


def _others() -> list[str]:
    """Lines that take out the other lanes of both loads."""
    first = "  %rest = shufflevector <4 x i8> %x, <4 x i8> %y, <4 x i32> <i32 0, i32 3, i32 4, i32 5>"
    return [
        first,
        *(f"  %e{k} = extractelement <4 x i8> %rest, i64 {k}" for k in range(4)),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  %n0 =", "  store i8 1, ptr %given, align 1\n  %n0 ="),
        ("  %n0 =", "  call void @g()\n  %n0 ="),
        ("  %n0 =", "  %lock = atomicrmw add ptr %out, i32 1 seq_cst\n  %n0 ="),
        ("  %n0 =", "  br label %next\nnext:\n  %n0 ="),
        ("  store <4 x i32> %r3", "  store <4 x i32> %wide, ptr %given, align 4\n  store <4 x i32> %r3"),
        ("%wide, i64 3", "%wide, i64 2"),
        ("load <4 x i8>", "load volatile <4 x i8>"),
    ],
)
def test_others_stay(old: str, new: str) -> None:
    text = LOOK_UP.replace(old, new) + "declare void @g()\n"
    assert old in LOOK_UP and with_numbers_in_memory(text, chosen().isa) is None


def look_up(table, index, out):
    for i in weft.prange(index.size):
        out[i] = table[index[i]]


@pytest.mark.parametrize("type", ["uint8", "uint16"])
@pytest.mark.parametrize("element", ["int16", "float32", "float64"])
def test_tables_are_looked_up(type: str, element: str) -> None:
    table = np.arange(300).astype(element)
    index = np.random.default_rng(6).integers(0, 256, 1003).astype(type)
    out = np.zeros(1003, element)
    loop = weft.jit(look_up)
    loop(table, index, out)
    assert out.tolist() == table[index].tolist()
    if chosen().arch == "x86_64" and not chosen().isa.mask_registers and element != "float64":
        assert "weft.number" in "".join(loop.inspect_llvm().values())
