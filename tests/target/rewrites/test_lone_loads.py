"""Gathers that are loads one by one, where there is no instruction for them or it is slow."""

import numpy as np
import pytest

from codegen.kernels import kernel_text
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft import interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.rewrites.lone_loads import with_lone_loads
from weft.target.rewrites.masked_loops import with_masked_loops

CALL = "  %v = call <{n} x {t}> @llvm.masked.gather.v{n}{t}.v{n}p0(<{n} x ptr> %p, <{n} x i1> %m, <{n} x {t}> poison)\n"


@pytest.mark.parametrize("type", ["i8", "i16"])
@pytest.mark.parametrize("lanes", [8, 64])
def test_bytes_are_loaded_one_by_one_with_avx512(type: str, lanes: int) -> None:
    text = CALL.format(n=lanes, t=type)
    for mask in ("%m", "splat (i1 true)"):
        made = with_lone_loads(with_masked_loops(text.replace("%m", mask), AVX512), AVX512)
        assert (f"@weft.each.v{lanes}{type}(" in made) == (lanes < 32 or mask != "%m")
    for isa in (AVX2, SSE2):
        assert with_lone_loads(text, isa) == text


def test_words_are_left_to_the_instruction() -> None:
    text = CALL.format(n=16, t="i32")
    assert with_lone_loads(text, AVX512) == text


@pytest.mark.parametrize(
    ("isa", "width", "type", "guard"),
    pairs(ISAS, [4, 16, 64], ["i8", "i16"], ["true", "%odd", "%few"]),
)
def test_lanes_get_what_is_at_their_places(isa, width: int, type: str, guard: str) -> None:
    body = f"""
  %odd = trunc i64 %tid to i1
  %few = icmp slt i64 %tid, %n
  br i1 {guard}, label %then, label %exit
then:
  %k = getelementptr i8, ptr %in, i64 %tid
  %b = load i8, ptr %k
  %i = zext i8 %b to i64
  %at = getelementptr {type}, ptr %in, i64 %i
  %v = load {type}, ptr %at
  %to = getelementptr {type}, ptr %out, i64 %tid
  store {type} %v, ptr %to
  br label %exit
exit:"""
    text = kernel_text(body)
    given = np.random.default_rng(3).integers(0, 256, 512, np.uint8)
    program, compiled = Program(read_module(text)), compile_kernel(text, width, isa)
    for n in (0, 1, 37):
        wanted, got = np.zeros(128, np.uint8), np.zeros(128, np.uint8)
        interp.launch(program, "kernel", (given, wanted, n, 0), 1, 64, width=width)
        compiled((given, got, n, 0), 64)
        np.testing.assert_array_equal(got, wanted)
