"""Loops of C dialects may be unrolled, but for those of which the source says that they may not."""

from __future__ import annotations

import pytest

from weft import opencl
from weft.frontend.cuda_c import clang as cuda_c
from weft.frontend.cuda_c.options import parse_options as cuda_options
from weft.frontend.device.unrolling import settle_unrolling
from weft.frontend.opencl import clang as opencl_c
from weft.frontend.opencl.options import parse_options as opencl_options
from weft.ir.loop_metadata import unrolling
from weft.ir.reader import read_module

_LOOP = "for (int i = 0; i < n; i++) x[i] += 1;"


def _opencl(mark: str) -> str:
    source = f"kernel void f(global float *x, int n) {{\n{mark}\n{_LOOP}\n}}"
    return opencl_c.compile_source(source, opencl_options(""), "loop.cl").text


def _cuda(mark: str) -> str:
    source = f"__global__ void f(float *x, int n) {{\n{mark}\n{_LOOP}\n}}"
    return cuda_c.compile_source(source, cuda_options(""), "loop.cu").text


@pytest.mark.spread
@pytest.mark.parametrize("compiled", [_opencl, _cuda])
@pytest.mark.parametrize(
    ("mark", "never"), [("", False), ("#pragma unroll 1", True), ("#pragma nounroll", True)]
)
def test_only_the_source_forbids_unrolling(compiled, mark: str, never: bool) -> None:
    assert ('!"llvm.loop.unroll.disable"' in compiled(mark)) == never


@pytest.mark.spread
@pytest.mark.parametrize("mark", ["#pragma unroll", "#pragma unroll 4", "#pragma unroll 1", ""])
@pytest.mark.parametrize("compiled", [_opencl, _cuda])
def test_how_far_loops_are_unrolled_is_not_the_sources_to_say(compiled, mark: str) -> None:
    text = compiled(mark)
    function = next(f for f in read_module(text).definitions() if f.blocks[1:])
    wished = "llvm.loop.unroll." in text
    settle_unrolling(function)
    wishes = [w for b in function.blocks if (w := unrolling(b.terminator)) is not None]
    assert wished == (mark != "") and bool(wishes) == (mark == "#pragma unroll 1")


def test_a_loop_that_has_changed_is_not_warned_of(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM would, of a loop that it was asked to unroll, and was asked not to once its vectors filled the registers."""
    text = """kernel void f(global const float *x, global const float *w, global float *y, int n) {
        int i = get_global_id(0); float s = 0;
        #pragma unroll
        for (int k = 0; k < n; k++) s += x[i * n + k] * w[k];
        y[i] = s;
    }"""
    opencl.Program(text).kernel("f").inspect_llvm()
    assert "not unrolled" not in capfd.readouterr().err
