"""Masked stores that ask first whether all lanes of a register store, on cores where they are slow."""

import numpy as np
import pytest
from msgspec.structs import replace

from codegen.kernels import kernel_text
from codegen.machine_code import compile_kernel
from pairs import pairs
from weft import interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.cores import core_of
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.whole_stores import with_whole_stores

CALL = "  call void @llvm.masked.store.v{n}{t}.p0(<{n} x {t}> %v, ptr %p, <{n} x i1> {m})\n"
ZEN = replace(AVX2, core=core_of("znver3"))


@pytest.mark.parametrize(
    ("lanes", "type", "changes"), [(8, "i32", True), (4, "i32", False), (32, "i8", False)]
)
def test_whole_registers_ask(lanes: int, type: str, changes: bool) -> None:
    text = CALL.format(n=lanes, t=type, m="%m")
    assert (with_whole_stores(text, ZEN) != text) == changes
    for isa in (AVX2, SSE2, replace(AVX512, core=core_of("znver4"))):
        assert with_whole_stores(text, isa) == text
    constant = CALL.format(n=lanes, t=type, m="splat (i1 true)")
    assert with_whole_stores(constant, ZEN) == constant


@pytest.mark.parametrize(
    ("width", "type", "guard"),
    pairs([8, 16, 32], ["i32", "i64", "float", "double"], ["%odd", "%few", "%not"]),
)
def test_lanes_store_under_their_masks(width: int, type: str, guard: str) -> None:
    body = f"""
  %odd = trunc i64 %tid to i1
  %few = icmp slt i64 %tid, %n
  %not = xor i1 %few, true
  %k = getelementptr {type}, ptr %in, i64 %tid
  %v = load {type}, ptr %k
  br i1 {guard}, label %then, label %exit
then:
  %to = getelementptr {type}, ptr %out, i64 %tid
  store {type} %v, ptr %to
  br label %exit
exit:"""
    text = kernel_text(body)
    given = np.random.default_rng(3).integers(0, 256, 1024, np.uint8)
    for n in (0, 1, 8, 37, 64):
        wanted, got = np.zeros(1024, np.uint8), np.zeros(1024, np.uint8)
        interp.launch(Program(read_module(text)), "kernel", (given, wanted, n, 0), 1, 64, width=width)
        compile_kernel(text, width, ZEN)((given, got, n, 0), 64)
        np.testing.assert_array_equal(got, wanted)
