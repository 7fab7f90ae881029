"""What work-items of a work-group do together: barriers, local memory, smaller last work-groups, printf."""

import numpy as np
import pytest

from weft import opencl
from weft.errors import BarrierDivergence

pytest.importorskip("ziglang")


def run(
    source: str,
    out: np.ndarray,
    *args: object,
    size: object = 96,
    local: object = 32,
    options: str = "",
    **more,
):
    opencl.Program(source, options).k(size, local, out, *args, **more)
    return out


@pytest.mark.parametrize("debug", [False, True])
def test_local_memory_is_aligned_for_the_largest_vectors(debug: bool) -> None:
    source = """
    kernel void k(global ulong *o, local double16 *a, local char *b, local long16 *c) {
      local double16 own[2];
      own[0] = 1; *a = 2; *b = 3; *c = 4;
      o[0] = (ulong)a & 127; o[1] = (ulong)c & 127; o[2] = (ulong)own & 127;
      o[3] = own[0].sf + a->sf + *b + c->sf;
    }"""
    out = np.zeros(4, np.uint64)
    memory = opencl.LocalMemory(128), opencl.LocalMemory(1), opencl.LocalMemory(128)
    opencl.Program(source, debug=debug).k(1, 1, out, *memory)
    assert out.tolist() == [0, 0, 0, 10]


def test_barriers_in_loops_branches_and_functions() -> None:
    """Barriers in nested loops with break and continue, in both branches of a uniform if, and in called functions."""
    source = """
    float neighbour(local float *t, int l) { barrier(CLK_LOCAL_MEM_FENCE); float v = t[(l + 1) % 32];
      barrier(CLK_LOCAL_MEM_FENCE); return v; }
    kernel void k(global float *o, int n, local float *dynamic) {
      local float t[32]; int l = get_local_id(0);
      t[l] = get_global_id(0);
      for (int i = 0; i < n; i++) {
        if (i == 1) continue;
        for (int j = 0; j < 2; j++) { t[l] = neighbour(t, l) + j; if (i == 3) break; }
        if (n > 3) { dynamic[l] = t[l]; barrier(CLK_LOCAL_MEM_FENCE); t[l] += dynamic[31 - l]; }
        else { barrier(CLK_LOCAL_MEM_FENCE); t[l] *= 2; }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      o[get_global_id(0)] = t[l];
    }"""
    wanted = np.arange(96, dtype=np.float32).reshape(3, 32)
    for i in (0, 2, 3):
        for j in range(1 if i == 3 else 2):
            wanted = np.roll(wanted, -1, axis=1) + j
        wanted = wanted + wanted[:, ::-1]
    got = run(source, np.zeros(96, np.float32), 4, opencl.LocalMemory(128))
    np.testing.assert_array_equal(got, wanted.ravel())


def test_two_dimensions_with_two_local_arguments() -> None:
    source = """
    kernel void k(global int *o, local int *a, local int *b) {
      int x = get_local_id(0), y = get_local_id(1), w = get_global_size(0);
      a[y * 8 + x] = get_global_id(1) * w + get_global_id(0); b[y * 8 + x] = -1;
      barrier(CLK_LOCAL_MEM_FENCE);
      o[get_global_id(1) * w + get_global_id(0)] = a[x * 8 + y] + b[x * 8 + y];
    }"""
    got = run(
        source,
        np.zeros((16, 24), np.int32),
        opencl.LocalMemory(256),
        opencl.LocalMemory(256),
        size=(24, 16),
        local=(8, 8),
    )
    tiles = np.arange(16 * 24).reshape(2, 8, 3, 8)
    np.testing.assert_array_equal(got, tiles.transpose(0, 3, 2, 1).reshape(16, 24) - 1)


def test_smaller_last_groups_behind_an_offset() -> None:
    source = """
    kernel void k(global int *o, int w) {
      int x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
      local int count; if (!get_local_linear_id()) count = get_local_size(0) * get_local_size(1);
      barrier(CLK_LOCAL_MEM_FENCE);
      o[y * w + x] = count + 100 * get_group_id(0) + 1000 * get_group_id(1) + 10000 * get_num_groups(0)
        + 100000 * get_enqueued_local_size(0) + 1000000 * get_global_offset(0) + get_global_size(1) * 10000000;
    }"""
    got = run(
        source,
        np.zeros((7, 11), np.int32),
        11,
        size=(11, 7),
        local=(4, 4),
        options="-cl-std=CL3.0",
        global_offset=(5, 2),
    )
    y, x = np.mgrid[0:7, 0:11]
    count = np.minimum(4, 11 - x // 4 * 4) * np.minimum(4, 7 - y // 4 * 4)
    wanted = count + 100 * (x // 4) + 1000 * (y // 4) + 30000 + 400000 + 5000000 + 70000000
    np.testing.assert_array_equal(got, wanted)


def test_program_scope_lives_as_long_as_the_program() -> None:
    program = opencl.Program(
        "global int total = 3; kernel void k(global int *o) { if (!get_global_id(0)) { total *= 2; *o = total; } }"
        "kernel void get(global int *o) { if (!get_global_id(0)) *o = total; }",
        "-cl-std=CL3.0",
    )
    out = np.zeros(1, np.int32)
    program.k(16, 16, out)
    program.k(16, 16, out)
    program.get(1, 1, out)
    assert out[0] == 12


def test_threads_at_different_barriers_are_an_error() -> None:
    source = """
    kernel void k(global int *o, int n) {
      int l = get_local_id(0);
      if (o[l] < n) { barrier(CLK_LOCAL_MEM_FENCE); o[l] += 1; } else { barrier(CLK_LOCAL_MEM_FENCE); o[l] -= 1; }
    }"""
    with pytest.raises(BarrierDivergence, match=r"line 4"):
        run(source, np.arange(32, dtype=np.int32), 7, size=32)


def test_printf(capsys: pytest.CaptureFixture[str]) -> None:
    source = r"""
    kernel void k(global float *o) { int i = get_global_id(0); float4 v = (float4)(i, 0.5f, -2, 1e10f); char3 c =
    (char3)(i);
      if (i != 1) printf("%d|%5.2f|%v4hlg|%.2v4hle|%#x %v3hhd|%s|%c%%|%-4u|\n", i, o[i], v, v, 255, c, "text", 'x', 7);
      }"""
    run(source, np.array([1.5, 2.5, 3.5], np.float32), size=3, local=3)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        f"{i}| {i + 1.5:.2f}|{i},0.5,-2,1e+10|{i:.2e},5.00e-01,-2.00e+00,1.00e+10|0xff {i},{i},{i}|text|x%|7   |"
        for i in (0, 2)
    ]


def test_arrays_of_their_own_that_work_items_reach_through_memory_behind_barriers() -> None:
    """What is kept in a frame is apart from all else, but for objects to which the program has pointers."""
    source = """
    kernel void k(global int *o) {
      int l = get_local_id(0), own[4] = {l, l + 1, l + 2, l + 3}; int *at[2] = {own, own + 1};
      local int t[32]; t[l] = l;
      barrier(CLK_LOCAL_MEM_FENCE);
      int before = own[t[31 - l] % 4];
      *at[l % 2] = 100 + t[31 - l];
      int after = own[0] + 1000 * own[1];
      barrier(CLK_LOCAL_MEM_FENCE);
      at[l % 2][1] -= before;
      o[get_global_id(0)] = after + own[1] * 7 + own[2] * 13 + t[(l + 5) % 32];
    }"""
    wanted = []
    for item in range(96):
        lane = item % 32
        own = [lane, lane + 1, lane + 2, lane + 3]
        before = own[(31 - lane) % 4]
        own[lane % 2] = 131 - lane
        after = own[0] + 1000 * own[1]
        own[lane % 2 + 1] -= before
        wanted.append(after + own[1] * 7 + own[2] * 13 + (lane + 5) % 32)
    np.testing.assert_array_equal(run(source, np.zeros(96, np.int32)), wanted)
