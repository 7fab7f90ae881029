"""Functions of whole work-groups and sub-groups, atomics, and copies that a work-group makes together."""

import numpy as np
import pytest

from weft import opencl

pytest.importorskip("ziglang")

N, GROUP = 96, 48
IDS = np.arange(N)


def run(source: str, *args: object, dtype: type = np.int32) -> np.ndarray:
    out = np.zeros(N, dtype)
    opencl.Program(f"kernel void k({source}", "-cl-std=CL3.0").k(N, GROUP, out, *args)
    return out


def sub_groups() -> list[np.ndarray]:
    """The ids of each sub-group: 32 consecutive ones, or what is left of the work-group."""
    return [IDS[a:b] for a, b in ((0, 32), (32, 48), (48, 80), (80, 96))]


def test_work_group_functions() -> None:
    got = run(
        """global int *o) { int i = get_global_id(0);
        o[i] = work_group_reduce_max(i * 7 % 50) + 100 * work_group_scan_inclusive_add(i % 3)
             + 10000 * work_group_broadcast(i, 5) + 10000000 * (work_group_any(i == 40) + 2 * work_group_all(i < 50));
        }"""
    )
    groups = IDS.reshape(2, GROUP)
    wanted = (groups * 7 % 50).max(1, keepdims=True) + 100 * np.cumsum(groups % 3, 1)
    wanted = wanted + 10000 * (groups[:, :1] + 5) + np.array([[30000000], [0]])
    np.testing.assert_array_equal(got, wanted.ravel())


def test_sub_groups_are_of_consecutive_work_items() -> None:
    got = run(
        """global int *o) { int i = get_global_id(0);
        o[i] = sub_group_reduce_add(i) + 10000 * sub_group_scan_exclusive_add(1) + 1000000 * get_sub_group_size()
             + 100000000 * get_sub_group_id() + (get_sub_group_local_id() == sub_group_broadcast(i, 1) % 16); }"""
    )
    wanted = [
        s.sum()
        + 10000 * (s - s[0])
        + 1000000 * len(s)
        + 100000000 * (s[0] % GROUP // 32)
        + (s - s[0] == s[1] % 16)
        for s in sub_groups()
    ]
    np.testing.assert_array_equal(got, np.concatenate(wanted))


@pytest.mark.parametrize("size", [8, 64])
def test_a_kernel_asks_for_its_sub_groups(size: int) -> None:
    program = opencl.Program(
        f"kernel __attribute__((intel_reqd_sub_group_size({size}))) void k(global int *o)"
        "{ int n = get_num_sub_groups(), m = get_max_sub_group_size();"
        "  o[get_global_id(0)] = sub_group_reduce_add(1) + 100 * m + 10000 * n; }",
        "-cl-std=CL3.0",
    )
    out = np.zeros(128, np.int32)
    program.k(128, 64, out)
    assert program.k.info.sub_group_size == size and program.k.info.uses_sub_groups
    assert np.all(out == size + 100 * size + 10000 * (64 // size))


def test_atomics_of_both_kinds() -> None:
    counts, last = np.zeros(5, np.int32), np.zeros(1, np.uint64)
    got = run(
        """global int *o, global int *h, volatile global atomic_ulong *last) { int i = get_global_id(0); local int c;
        if (!get_local_id(0)) c = 0; barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&h[i & 3], i); atomic_inc(&c);
        atomic_fetch_max_explicit(last, i, memory_order_relaxed, memory_scope_device);
        int old; do { old = h[4]; } while (atomic_cmpxchg(&h[4], old, old + 2) != old);
        barrier(CLK_LOCAL_MEM_FENCE); o[i] = c; }""",
        counts, last,
    )  # fmt: skip
    assert counts.tolist() == [*(IDS[k::4].sum() for k in range(4)), 2 * N]
    assert last[0] == N - 1 and np.all(got == GROUP)


def test_copies_of_work_groups() -> None:
    x = (IDS * 5 % 31).astype(np.float32)
    got = run(
        """global float *o, global const float *x) { local float t[48], u[24]; int l = get_local_id(0);
        event_t e = async_work_group_copy(t, x + get_group_id(0) * 48, 48, 0);
        e = async_work_group_strided_copy(u, x + get_group_id(0) * 48, 24, 2, e);
        wait_group_events(1, &e); o[get_global_id(0)] = t[47 - l] + u[l / 2]; }""",
        x, dtype=np.float32,
    )  # fmt: skip
    groups = x.reshape(2, GROUP)
    np.testing.assert_array_equal(got, (groups[:, ::-1] + groups[:, IDS[:GROUP] // 2 * 2]).ravel())
