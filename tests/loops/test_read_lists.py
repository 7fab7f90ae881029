"""Lists that are only read, loops of one iteration, and slices whose step a run says."""

import numpy as np
import pytest

import weft
from weft.errors import UnsupportedError

X = np.arange(20.0).reshape(4, 5)


def of_neighbours(x):
    dy, dx = [-1, 0, 0, 1], [0, -1, 1, 0]
    out = np.zeros(x.shape)
    for i in weft.prange(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(len(dy)):
                y, z = i + dy[k], j + dx[k]
                if 0 <= y < x.shape[0] and 0 <= z < x.shape[1]:
                    out[i, j] += x[y, z]
    return out


def looped_over(x):
    s = 0.0
    for factor in [2, 0.5]:
        s += factor * x[0, 1]
    for place, sign in enumerate([1, -1]):
        s += sign * x[place, 3 * place]
    table = [[1, 2], [3, 4]]
    return s + table[1][0] + sum([1, 2.5]) + (3 in [1, 3]) + max([x[0, 1], 0.25])


def of_local_function(x):
    weights = [1, 2, 3]

    def weighted(k):
        return weights[k] * x[k, k]

    return weighted(1) + weighted(2)


@pytest.mark.parametrize("function", [of_neighbours, looped_over, of_local_function])
def test_lists_that_are_read(function):
    np.testing.assert_allclose(weft.jit(function)(X), function(X), rtol=1e-15)


def changes_an_element(x):
    a = [1, 2]
    a[0] = 3
    return a[0]


def changes_an_inner_one(x):
    a = [[1, 2], [3]]
    a[0][1] = 3
    return a[0][1]


def grows(x):
    a = [1]
    a.append(2)
    return a[1]


def returns_it(x):
    a = [1, 2]
    x[0, 0] = a[0]
    return a


def has_two_names(x):
    a = [1, 2]
    b = a
    b[0] = 3
    return a[0]


@pytest.mark.parametrize(
    "function", [changes_an_element, changes_an_inner_one, grows, returns_it, has_two_names]
)
def test_lists_that_may_change(function):
    with pytest.raises(UnsupportedError, match="a list that may change"):
        weft.jit(function)(X)


def test_a_loop_of_one_iteration_hands_nothing_on():
    @weft.jit
    def running_sums(x, r):
        out = np.zeros((x.shape[0], x.shape[1] - r))
        for i in weft.prange(x.shape[0]):
            for j in range(1):
                s = 0.0
                for k in range(r + 1):
                    s += x[i, k]
                out[i, j] = s
            for j in range(1, out.shape[1]):
                s += x[i, j + r] - x[i, j - 1]
                out[i, j] = s
        return out

    wanted = np.lib.stride_tricks.sliding_window_view(X, 3, 1).sum(2)
    np.testing.assert_allclose(running_sums(X, 2), wanted)


def test_a_loop_of_one_iteration_is_left_early():
    @weft.jit
    def once(x):
        s = 0
        for i in range(7, 4, -3):
            if x[0, 0] > 0:
                break
            s += i
        else:
            s += 100
        for i in range(3, 4):
            if x[0, 0] > 0:
                continue
            s += i
        return s, i

    assert once(X) == (110, 3)
    assert once(X + 1) == (0, 3)


def test_steps_of_slices():
    whole = weft.jit(lambda x, step: x[::step])
    part = weft.jit(lambda x, first, last, step: x[first:last:step])
    for x in (np.arange(7.0), np.zeros(0), np.ones(1)):
        for step in (1, 2, 3, 7, 8, -1, -2, -3, -7, 2**63 - 1, -(2**63)):
            np.testing.assert_array_equal(whole(x, step), x[::step])
            for first in (-9, -3, 0, 2, 6, 9):
                for last in (-9, -3, 0, 2, 6, 9):
                    np.testing.assert_array_equal(part(x, first, last, step), x[first:last:step])
        assert whole(x, 0).size == 0


def test_steps_of_slices_that_are_assigned_to():
    @weft.jit
    def put(x, first, step):
        for i in weft.prange(x.shape[0]):
            x[i, first::step] = i + 1

    for step in (1, 2, -2):
        found, wanted = np.zeros((3, 9)), np.zeros((3, 9))
        put(found, 1, step)
        wanted[:, 1::step] = np.arange(1, 4)[:, None]
        np.testing.assert_array_equal(found, wanted)
