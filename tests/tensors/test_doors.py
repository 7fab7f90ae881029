"""Brushes of kernels in C dialects and in PTX: the same results on each level, and remarks that name them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import opencl
from weft.cuda import Module as CudaModule
from weft.diag.errors import SettingError, SignatureError
from weft.frontend.opencl.options import parse_options
from weft.ptx import Module as PtxModule

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
BRUSHES = [((2, 4), None), ((4, 4), (0, 1)), ((2, 2, 4), (2, 0, 1)), ((8, 8), None)]

OPENCL = """
kernel void turned(global double *b, global const double *a, int rows, int columns) {
  local double tile[8][8];
  int tx = get_local_id(0), ty = get_local_id(1);
  int x = get_group_id(0) * 8 + tx, y = get_group_id(1) * 8 + ty;
  if (y < rows && x < columns) tile[ty][tx] = a[y * columns + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 8 + tx, y = get_group_id(0) * 8 + ty;
  if (x < rows && y < columns) b[y * rows + x] = tile[tx][ty] > 0.5 ? tile[tx][ty] + 1 : tile[tx][ty];
}
"""

CUDA = """
__global__ void turned(double *b, const double *a, int rows, int columns) {
  __shared__ double tile[8][8];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
  if (y < rows && x < columns) tile[ty][tx] = a[y * columns + x];
  __syncthreads();
  x = blockIdx.y * 8 + tx, y = blockIdx.x * 8 + ty;
  if (x < rows && y < columns) b[y * rows + x] = tile[tx][ty] > 0.5 ? tile[tx][ty] + 1 : tile[tx][ty];
}
"""

PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry turned(.param .u64 to, .param .u64 from, .param .u32 rows, .param .u32 columns) {
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  .reg .f64 %f<3>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 8, %r2;
  mov.u32 %r4, %ctaid.y;
  mov.u32 %r5, %tid.y;
  mad.lo.u32 %r6, %r4, 8, %r5;
  ld.param.u32 %r7, [rows];
  ld.param.u32 %r8, [columns];
  setp.ge.s32 %p1, %r6, %r7;
  @%p1 bra done;
  setp.ge.s32 %p2, %r3, %r8;
  @%p2 bra done;
  ld.param.u64 %d1, [from];
  mad.lo.s32 %r9, %r6, %r8, %r3;
  mul.wide.s32 %d2, %r9, 8;
  add.s64 %d3, %d1, %d2;
  ld.global.f64 %f1, [%d3];
  add.f64 %f2, %f1, %f1;
  ld.param.u64 %d4, [to];
  mad.lo.s32 %r10, %r3, %r7, %r6;
  mul.wide.s32 %d5, %r10, 8;
  add.s64 %d6, %d4, %d5;
  st.global.f64 [%d6], %f2;
done:
  ret;
}
"""


CASES = pairs(["opencl", "cuda", "ptx"], BRUSHES, LEVELS)


def cases(door: str) -> list[tuple[Any, ...]]:
    return [(brush, level) for name, brush, level in CASES if name == door]


def arrays() -> tuple[np.ndarray, np.ndarray]:
    a = np.random.default_rng(1).random((19, 29))
    return a, np.zeros((29, 19))


def steps(a: np.ndarray) -> np.ndarray:
    return np.where(a > 0.5, a + 1, a).T


@pytest.mark.parametrize(("brush", "level"), cases("opencl"))
def test_opencl(brush, level, monkeypatch) -> None:
    brush, projection = brush
    monkeypatch.setenv("WEFT_CPU", level)
    program = opencl.Program(OPENCL, brush=brush, projection=projection)
    a, b = arrays()
    program.turned((32, 24), (8, 8), b, a, *map(np.int32, a.shape))
    assert np.array_equal(b, steps(a))
    assert f"as a box of {'x'.join(map(str, brush))}, as asked for" in remarks(program.turned)


@pytest.mark.parametrize(("brush", "level"), cases("cuda"))
def test_cuda(brush, level, monkeypatch) -> None:
    brush, projection = brush
    monkeypatch.setenv("WEFT_CPU", level)
    module = CudaModule(CUDA, brush=brush, projection=projection)
    a, b = arrays()
    module.turned[(4, 3), (8, 8)](b, a, *a.shape)
    assert np.array_equal(b, steps(a))
    assert f"as a box of {'x'.join(map(str, brush))}, as asked for" in remarks(module.kernel("turned"))


@pytest.mark.parametrize(("brush", "level"), cases("ptx"))
def test_ptx(brush, level, monkeypatch) -> None:
    brush, projection = brush
    monkeypatch.setenv("WEFT_CPU", level)
    module = PtxModule(PTX, brush=brush, projection=projection)
    a, b = arrays()
    module.turned[(4, 3), (8, 8)](b, a, *a.shape)
    assert np.array_equal(b, 2 * a.T)
    assert f"as a box of {'x'.join(map(str, brush))}, as asked for" in remarks(module["turned"])


def remarks(kernel) -> str:
    return " ".join(map(str, kernel.remarks))


def test_build_options_ask_for_a_brush() -> None:
    built = parse_options("-weft-brush=4x8 -weft-projection=0,1")
    assert built.brush is not None and (built.brush.extents, built.brush.projection) == ((4, 8), (0, 1))
    assert parse_options("-weft-brush=auto").brush is None
    for wrong in ("-weft-brush=4x3", "-weft-brush=4x4 -weft-width=16", "-weft-projection=0,1"):
        with pytest.raises(SettingError):
            parse_options(wrong)
    a, b = arrays()
    program = opencl.Program(OPENCL, "-weft-brush=4x4")
    program.turned((32, 24), (8, 8), b, a, *map(np.int32, a.shape))
    assert np.array_equal(b, steps(a))
    assert "as a box of 4x4" in remarks(program.turned)


def test_an_option_of_the_program_goes_before_its_text() -> None:
    a, b = arrays()
    program = opencl.Program(OPENCL, "-weft-brush=4x4", brush="2x8")
    program.turned((32, 24), (8, 8), b, a, *map(np.int32, a.shape))
    assert "as a box of 2x8" in remarks(program.turned)


@pytest.mark.parametrize("make", [opencl.Program, CudaModule, PtxModule])
def test_what_is_no_brush_is_refused(make) -> None:
    for options in ({"brush": (4, 3)}, {"projection": (1, 0)}, {"brush": (4, 4), "width": 16}):
        with pytest.raises(SignatureError):
            make("", **options)


def test_warps_run_as_warps() -> None:
    module = CudaModule(
        """__global__ void first(int *b) {
             b[threadIdx.y * 8 + threadIdx.x] = __shfl_sync(0xffffffff, (int)threadIdx.x + 1, 0);
           }""",
        brush=(2, 4),
    )
    b = np.zeros(32, np.int32)
    module.first[1, (8, 4)](b)
    assert (b == 1).all()
    assert "the brush is not used: threads ask what others of their warp do" in remarks(
        module.kernel("first")
    )


def test_weft_run_takes_a_brush(tmp_path: Path) -> None:
    (tmp_path / "turned.cl").write_text(OPENCL)
    a, _ = arrays()
    np.save(tmp_path / "a.npy", a)
    words = ["turned.cl", "--global", "32,24", "--local", "8,8", "--brush", "4x4", "--projection", "0,1"]
    words += [
        "--arg",
        "out:float64:29x19",
        "--arg",
        "a.npy",
        "--arg",
        "19",
        "--arg",
        "29",
        "--out",
        "0=b.npy",
    ]
    subprocess.run(
        [sys.executable, "-m", "weft", "run", *words], cwd=tmp_path, check=True, capture_output=True
    )
    assert np.array_equal(np.load(tmp_path / "b.npy"), steps(a))


def test_a_brush_is_left_to_weft() -> None:
    a, b = arrays()
    for program in (opencl.Program(OPENCL, brush="auto"), opencl.Program(OPENCL)):
        b[:] = 0
        program.turned((32, 24), (8, 8), b, a, *map(np.int32, a.shape))
        assert np.array_equal(b, steps(a))
    assert weft.cuda.jit(brush="auto")(lambda x: None) is not None
