"""Gathers of bytes as gathers of words: at any address, up to the end of memory, and only where that may be."""

import ctypes
import mmap

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda, prange
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512
from weft.target.rewrites.word_gathers import gather_words, with_word_gathers

TEXT = """
declare <8 x {type}> @llvm.masked.gather.v8{type}.v8p0(<8 x ptr>, <8 x i1>, <8 x {type}>)
define <8 x {type}> @f(ptr %base, <8 x i32> %n, <8 x i1> %m) {{
  %wide = {extension} <8 x i32> %n to <8 x i64>
  %at = getelementptr {unit}, ptr %base, <8 x i64> %wide
  %v = call <8 x {type}> @llvm.masked.gather.v8{type}.v8p0(
    <8 x ptr> align {align} %at, <8 x i1> %m, <8 x {type}> poison)
  ret <8 x {type}> %v
}}
"""
GATHERS = "call <8 x i32> @llvm.masked.gather"


def made(isa=AVX512, **parts: str) -> str:
    module = read_module(
        TEXT.format(**{"type": "i8", "unit": "i8", "extension": "zext", "align": "1"} | parts)
    )
    gather_words(module.functions["f"], isa)
    return with_word_gathers(write_module(module, plain=True))


def test_bytes_and_halves_of_words_are_gathered_as_words() -> None:
    assert GATHERS in made() and GATHERS in made(type="i16", unit="i16", align="2")
    assert made().count("declare <8 x i32> @llvm.masked.gather") == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"isa": AVX2},
        {"extension": "sext"},
        {"unit": "i16"},
        {"type": "i16", "unit": "i16"},
        {"type": "i16", "align": "2"},
        {"type": "i32", "unit": "i32", "align": "4"},
    ],
)
def test_others_stay(parts) -> None:
    assert GATHERS not in made(**parts) or parts.get("type") == "i32"
    assert "weft.words" not in made(**parts)


def look_up(table, index, out):
    for i in prange(out.size):
        if index[i] < 30000:
            out[i] = table[index[i]] + 1


@cuda.jit
def look_up_kernel(table, index, out):
    i = cuda.grid(1)
    if i < out.size and index[i] < 30000:
        out[i] = table[index[i]] + 1


def at_the_end_of_memory(values: np.ndarray) -> np.ndarray:
    """A copy behind which, and before whose page, there is none."""
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (0, 2):
        place = ctypes.c_void_p(start + page * mmap.PAGESIZE)
        assert not libc.mprotect(place, ctypes.c_size_t(mmap.PAGESIZE), 0)
    offset = 2 * mmap.PAGESIZE - values.nbytes
    copy = np.frombuffer(pages, values.dtype, values.size, offset)
    copy[:] = values
    return copy


@pytest.mark.parametrize(
    ("type", "size", "width"),
    pairs([np.uint8, np.int8, np.int16, np.uint16], [1, 2, 3, 1001, 2047, 2048], [None, 16]),
)
def test_elements_at_any_address_up_to_the_ends_of_memory(type, size: int, width: int | None) -> None:
    rng = np.random.default_rng(size)
    table = at_the_end_of_memory(rng.integers(0, 100, size).astype(type))
    assert table.nbytes <= mmap.PAGESIZE
    index = rng.integers(-size, size, 1003).astype(np.int32)
    index[::7] = 40000
    wanted = np.where(index < 30000, table[np.where(index < 30000, index, 0)] + 1, 0)
    out = np.zeros(1003, np.int32)
    weft.jit(look_up, width=width)(table, index, out)
    np.testing.assert_array_equal(out, wanted)
    out[:] = 0
    cuda.jit(look_up_kernel.py_func, width=width)[8, 128](table, index, out)
    np.testing.assert_array_equal(out, wanted)


def relabel(labels, index):
    for i in prange(index.size):
        labels[2 * i] = labels[index[i]]


def test_bytes_that_are_stored_to_as_well_are_loaded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    for function, words in ((look_up, True), (relabel, False)):
        compiled = weft.jit(function)
        index = np.arange(200, dtype=np.int32)
        arguments = (np.zeros(400, np.uint8), index, np.zeros(200, np.int32))[: 3 if words else 2]
        compiled(*arguments)
        assert ("vpgatherdd" in str(compiled.inspect_asm())) == words
