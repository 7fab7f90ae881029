"""Kernels in OpenCL C for GPUs: as PTX, and under the model."""

import numpy as np
import pytest

from weft.cli import main
from weft.diag.errors import LaunchError, UnsupportedError
from weft.opencl import LocalMemory, Program
from weft.simt.places import Space

SOURCE = """
kernel void turn(global const float *a, global float *b, local float *tile, int n) {
  int x = get_local_id(0), y = get_local_id(1);
  tile[y * 33 + x] = a[y * n + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  b[y * n + x] = exp(tile[x * 33 + y]);
}
kernel void lanes(global int *a) { a[get_global_id(0)] = sub_group_broadcast(a[0], 3) + sub_group_any(a[1]); }
__attribute__((intel_reqd_sub_group_size(16)))
kernel void halves(global int *a) { a[get_global_id(0)] = sub_group_broadcast(a[0], 3); }
"""


@pytest.fixture(scope="module")
def program():
    return Program(SOURCE, "-cl-std=CL3.0")


def test_ptx(program):
    text = program.turn.inspect_ptx("sm_90", lines=False)
    assert ".entry turn(" in text and "bar.sync" in text and ".extern .shared .align 16 .b8" in text
    # The mathematics are weft's own.
    assert ".extern .func" not in text


def test_model(program):
    a = np.random.default_rng(1).random((32, 32), dtype=np.float32)
    b = np.zeros_like(a)
    found = program.turn.simulate((32, 32), (32, 32), a, b, LocalMemory(33 * 32 * 4), 32, device="gtx570")
    np.testing.assert_allclose(b, np.exp(a.T), rtol=1e-5)
    assert found.total(Space.SHARED).transactions == 64
    assert found.total(Space.GLOBAL).transactions == 2 * 32 * 4
    with pytest.raises(LaunchError, match="work-groups are all alike"):
        program.turn.simulate((48, 32), (32, 32), a, b, LocalMemory(33 * 32 * 4), 32)


def test_sub_groups_are_warps(program):
    text = program.lanes.inspect_ptx()
    assert "shfl.sync.idx.b32" in text and "vote.sync.ballot.b32" in text and "activemask" in text
    with pytest.raises(UnsupportedError, match="sub-groups of 16 work-items, and a GPU warps of 32"):
        program.halves.inspect_ptx()


def test_command(tmp_path, capsys):
    file = tmp_path / "turn.cl"
    file.write_text(SOURCE)
    assert main(["ptx", str(file), "--kernel", "turn", "--parameters", "--clang=-cl-std=CL3.0"]) == 0
    assert "tile.offset" in capsys.readouterr().out
    assert main(["ptx", str(file), "--types", "void(int32)"]) == 2
    file = tmp_path / "k.cu"
    file.write_text(
        "__global__ void k(float *x) { x[threadIdx.x] = __shfl_down_sync(~0u, x[threadIdx.x], 1); }"
    )
    assert main(["ptx", str(file), "--arch", "sm_90"]) == 0
    assert "shfl.sync.idx.b32" in capsys.readouterr().out
