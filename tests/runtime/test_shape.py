import numpy as np
import pytest

from weft.diag.errors import LaunchError
from weft.runtime.shape import LaunchShape, launch_shape


def test_integers_and_short_tuples_are_completed_with_ones():
    assert launch_shape(5, (4, 2)) == LaunchShape((5, 1, 1), (4, 2, 1))
    assert launch_shape((2, 3, 4), np.int32(8), 64) == LaunchShape((2, 3, 4), (8, 1, 1), 64)


def test_counts_are_products():
    shape = launch_shape((2, 3, 4), (5, 6, 7))
    assert (shape.groups, shape.group_threads) == (24, 210)


@pytest.mark.parametrize(
    ("grid", "block", "dynamic", "message"),
    [
        (0, 1, 0, "grid is 0 along x"),
        (1, (4, -2), 0, "block is -2 along y"),
        (2**31, 1, 0, "grid is 2147483648 along x"),
        ((1, 65536), 1, 0, "grid is 65536 along y"),
        (1, 2048, 0, "block is 2048 along x"),
        (1, (1, 1, 65), 0, "block is 65 along z"),
        (1, (32, 32, 2), 0, "2048 threads"),
        ((1, 1, 1, 1), 1, 0, "1 to 3 dimensions, not 4"),
        ((), 1, 0, "1 to 3 dimensions, not 0"),
        (1.0, 1, 0, "1.0 is not an integer"),
        (1, (4, 2.0), 0, "2.0 is not an integer"),
        (True, 1, 0, "True is not an integer"),
        ([1, 2], 1, 0, "is not an integer"),
        (1, "8", 0, "is not an integer"),
        (1, 1, -1, "dynamic shared memory"),
        (1, 1, 1.5, "dynamic shared memory"),
        ((2**31 - 1, 65535, 65535), 1, 0, "too many"),
    ],
)
def test_shape_that_no_launch_can_have_is_refused(grid, block, dynamic, message):
    with pytest.raises(LaunchError, match=message):
        launch_shape(grid, block, dynamic)


def test_float_is_refused_even_when_its_integer_was_seen():
    launch_shape((3,), 7)
    with pytest.raises(LaunchError):
        launch_shape((3.0,), 7)
