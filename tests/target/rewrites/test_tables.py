"""Lookups in tables of bytes permute registers, and read no page that is not there."""

import ctypes
import mmap

import numpy as np
import pytest

import weft
from codegen.kernels import kernel_text, widened
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft import cuda, interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.switches import Switches
from weft.target.rewrites.masked_loops import PAGE

MASKS = {
    256: "",
    128: "  %i7 = lshr i8 %b, 1\n",
    64: "  %i7 = and i8 %b, 63\n",
    16: "  %i7 = lshr i8 %b, 4\n",
}
"""By the size of a table, what makes a number in it of a byte."""


def lookup(size: int, guard: str = "true", offset: int | str = 0) -> str:
    """A kernel that looks numbers up in a table that begins at the first byte of the input, they at the 300th."""
    number = "%i7" if size < 256 else "%b"
    return kernel_text(f"""
  %odd = trunc i64 %tid to i1
  %few = icmp slt i64 %tid, %n
  br i1 {guard}, label %then, label %exit
then:
  %ks = getelementptr i8, ptr %in, i64 300
  %k = getelementptr i8, ptr %ks, i64 %tid
  %b = load i8, ptr %k
{MASKS[size]}  %i = zext i8 {number} to i64
  %table = getelementptr i8, ptr %in, i64 {offset}
  %at = getelementptr i8, ptr %table, i64 %i
  %v = load i8, ptr %at
  %to = getelementptr i8, ptr %out, i64 %tid
  store i8 %v, ptr %to
  br label %exit
exit:""")


@pytest.mark.spread
@pytest.mark.parametrize(
    ("isa", "width", "size", "guard"),
    pairs([*ISAS, None], [8, 16, 32, 64], [256, 128, 64, 16], ["true", "%odd", "%few"]),
)
def test_each_lane_gets_what_its_number_leads_to(isa, width: int, size: int, guard: str) -> None:
    text = lookup(size, guard, offset=7)
    given = np.random.default_rng(size).integers(0, 256, 512, np.uint8)
    program, compiled = Program(read_module(text)), compile_kernel(text, width, isa)
    for n in (0, 1, 37):
        wanted, got = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
        interp.launch(program, "kernel", (given, wanted, n, 0), 1, 64, width=8)
        compiled((given, got, n, 0), 64)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("isa", "width"), [(AVX2, 32), (AVX512, 64)])
def test_tables_are_looked_up_in_registers(isa, width: int) -> None:
    assert f"@weft.lookup.v{width}.4(" in widened(lookup(256), width, isa)
    assert f"@weft.lookup.v{width}.1(" in widened(lookup(16), width, isa)


@pytest.mark.parametrize(("isa", "width"), [(SSE2, 16), (AVX2, 8)])
def test_gathers_stay_where_nothing_shuffles_bytes_or_lanes_are_few(isa, width: int) -> None:
    assert "weft.lookup" not in widened(lookup(256), width, isa)


@pytest.mark.spread
@pytest.mark.parametrize(("isa", "width"), [(AVX2, 32), (AVX512, 64)])
@pytest.mark.parametrize("switches", [Switches(), Switches(uniform_values=False)], ids=["scalars", "vectors"])
def test_tables_begin_where_lanes_agree_though_that_is_a_vector(isa, width: int, switches: Switches) -> None:
    text = lookup(64, offset="%more").replace("  %odd =", "  %more = and i64 %n, 7\n  %odd =", 1)
    given = np.random.default_rng(width).integers(0, 256, 512, np.uint8)
    wanted, got = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    interp.launch(Program(read_module(text)), "kernel", (given, wanted, 5, 0), 1, 64, width=8)
    compile_kernel(text, width, isa, switches=switches)((given, got, 5, 0), 64)
    np.testing.assert_array_equal(got, wanted)


def look_up(text, table, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[text[i]]


def look_up_loop(text, table, out):
    for i in weft.prange(out.size):
        out[i] = table[text[i]]


@pytest.mark.spread
@pytest.mark.parametrize(("form", "width"), pairs(["loop", "kernel"], [16, 32, 64, None]))
@pytest.mark.parametrize("least", [0, 30])
def test_a_page_that_is_not_there_is_not_read(form: str, width: int | None, least: int) -> None:
    """The table has 100 bytes at the end of a page, or across two, with nothing mapped around it."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = mmap.mmap(-1, 4 * PAGE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    pages = np.frombuffer(memory, np.uint8)
    pages[:] = np.random.default_rng(1).integers(0, 256, pages.size)
    for page in (0, 3):
        assert libc.mprotect(ctypes.c_void_p(begin + page * PAGE), PAGE, 0) == 0
    run = cuda.jit(look_up, width=width)[3, 64] if form == "kernel" else weft.jit(look_up_loop, width=width)
    for place in (PAGE, 2 * PAGE - 50, 3 * PAGE - 100):
        # Nobody is to know what the array is a part of.
        table = np.ctypeslib.as_array((ctypes.c_uint8 * 100).from_address(begin + place))
        for size in (1, 5, 130):
            text = np.random.default_rng(size).integers(least, 100, size).astype(np.uint8)
            out = np.zeros(size, np.uint8)
            run(text, table, out)
            np.testing.assert_array_equal(out, table[text])
    assert libc.mprotect(ctypes.c_void_p(begin), 4 * PAGE, 3) == 0
