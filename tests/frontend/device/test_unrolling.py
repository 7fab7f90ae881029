"""Loops of C dialects may be unrolled, but for those of which the source says that they may not."""

from __future__ import annotations

import pytest

from weft.frontend.cuda_c import clang as cuda_c
from weft.frontend.cuda_c.options import parse_options as cuda_options
from weft.frontend.opencl import clang as opencl_c
from weft.frontend.opencl.options import parse_options as opencl_options

_LOOP = "for (int i = 0; i < n; i++) x[i] += 1;"


def _opencl(mark: str) -> str:
    source = f"kernel void f(global float *x, int n) {{\n{mark}\n{_LOOP}\n}}"
    return opencl_c.compile_source(source, opencl_options(""), "loop.cl").text


def _cuda(mark: str) -> str:
    source = f"__global__ void f(float *x, int n) {{\n{mark}\n{_LOOP}\n}}"
    return cuda_c.compile_source(source, cuda_options(""), "loop.cu").text


@pytest.mark.parametrize("compiled", [_opencl, _cuda])
@pytest.mark.parametrize(
    ("mark", "never"), [("", False), ("#pragma unroll 1", True), ("#pragma nounroll", True)]
)
def test_only_the_source_forbids_unrolling(compiled, mark: str, never: bool) -> None:
    assert ('!"llvm.loop.unroll.disable"' in compiled(mark)) == never
