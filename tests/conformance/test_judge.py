"""The judge of the conformance suite is itself sharp: it notices what differs, and types as the dialect does."""

import numpy as np
import pytest

from conformance import reference
from conformance.reference_scalars import WeakInt, cast
from conformance.runner import assert_same, ulp_distance
from conformance.suite import every_case
from weft import cuda


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1.0]), np.nextafter(np.array([1.0]), 2)),
        (np.array([np.nan]), np.array([1.0])),
        (np.array([1 + 2j]), np.array([1 + 3j])),
        (np.array([(1, 2.0)], "i4,f4"), np.array([(1, 2.5)], "i4,f4")),
    ],
    ids=lambda array: str(array),
)
def test_a_difference_of_one_bit_is_noticed(got: np.ndarray, wanted: np.ndarray) -> None:
    assert_same((got,), (got.copy(),), 0, "itself")
    with pytest.raises(AssertionError):
        assert_same((got,), (wanted,), 0, "other")


def test_a_write_beside_a_view_is_noticed() -> None:
    got, wanted = np.zeros(6), np.zeros(6)
    got[1] = 1
    with pytest.raises(AssertionError):
        assert_same((got[::2],), (wanted[::2],), 0, "beside the view")


def test_ulp_distance_counts_the_floats_between() -> None:
    a = np.array([1.0, -1.0, np.nan, 0.0], np.float32)
    b = np.array([1.0, -1.0, np.nan, 0.0], np.float32)
    b[0] = np.nextafter(np.nextafter(b[0], np.float32(2)), np.float32(2))
    b[3] = -np.finfo(np.float32).smallest_subnormal
    np.testing.assert_array_equal(ulp_distance(a, b), [2, 0, 0, 2])


def test_weak_integers_yield_to_floats_and_widen_narrow_integers() -> None:
    weak = WeakInt(5)
    assert type(weak * np.float32(2)) is np.float32
    assert type(weak + np.int8(1)) is np.int64
    assert type(np.uint64(1) + weak) is np.uint64
    assert type(weak + 1) is WeakInt
    with np.errstate(all="ignore"):
        assert WeakInt(2**63 - 1) + 1 == -(2**63)
        assert weak // WeakInt(0) == 0


def test_casts_wrap_integers_and_saturate_floats() -> None:
    assert cast(300, np.dtype(np.uint8)) == 44
    assert cast(1e9, np.dtype(np.int16)) == 32767
    assert cast(np.float32("nan"), np.dtype(np.int32)) == 0


def test_threads_at_different_barriers_are_noticed() -> None:
    def kernel(x):
        if cuda.threadIdx.x == 0:
            cuda.syncthreads()
        else:
            cuda.syncthreads_count(True)

    with np.errstate(all="ignore"), pytest.raises(RuntimeError, match="different barriers"):
        reference.run(kernel, 1, 4, (np.zeros(4),))


def test_the_suite_is_as_large_as_promised() -> None:
    cases = every_case()
    assert len({case.kernel.__code__ for case in cases.values()}) >= 150
    assert len(cases) >= 220
