"""`weft.dask` on chunked arrays: what comes out is what one machine computes without chunks, to the last bit."""

import math
import operator

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize

import weft.dask
from dask_arrays.functions import (
    axpy,
    both,
    dot,
    escape,
    ramp,
    rooted,
    row_sums,
    smooth,
    smooth_kernel,
    total,
)
from weft import cuda
from weft.dask import Extent, Origin, Result, Updated
from weft.errors import ArgumentError, SignatureError, WeftError


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def numbers():
    return np.random.default_rng(5).normal(size=(57, 83))


@pytest.fixture
def chunked(numbers):
    return da.from_array(numbers, chunks=(20, 30))


def test_blocks_of_an_elementwise_function(numbers, chunked):
    made = weft.dask.map_blocks(escape, chunked, chunked / 3)
    assert made.dtype == np.int64 and made.chunks == chunked.chunks
    np.testing.assert_array_equal(made.compute(), escape(numbers, numbers / 3))


def test_blocks_of_a_function_that_returns_arrays(numbers, chunked):
    made = weft.dask.map_blocks(rooted, chunked)
    assert made.dtype == np.float32 and made.shape == chunked.shape
    np.testing.assert_array_equal(made.compute(), rooted(numbers))


def test_rows_of_a_generalized_function(numbers, chunked):
    rows = chunked.rechunk((20, -1))
    made = weft.dask.map_blocks(dot, rows, rows)
    assert made.shape == (57,) and made.dtype == np.float64
    np.testing.assert_array_equal(made.compute(), dot(numbers, numbers))


def test_a_new_axis_and_other_chunks():
    @weft.jit
    def pairs(a):
        out = np.empty((a.size, 2), np.float64)
        for i in weft.prange(a.size):
            out[i, 0], out[i, 1] = a[i], -a[i]
        return out

    x = da.arange(10.0, chunks=4)
    made = weft.dask.map_blocks(pairs, x, new_axis=1, chunks=(x.chunks[0], (2,)))
    np.testing.assert_array_equal(made.compute(), pairs(np.arange(10.0)))


def test_types_are_found_without_a_call():
    @weft.jit
    def first(a):
        return np.full(a.size, a[0])

    made = weft.dask.map_blocks(first, da.ones(6, chunks=3, dtype=np.float32))
    assert made.dtype == np.float32 and not first.overloads


def test_a_function_that_writes_to_a_block_is_refused_at_its_line():
    @weft.jit
    def spoil(a):
        a[0] = 1.0
        return a

    with pytest.raises(WeftError, match="read-only") as caught:
        weft.dask.map_blocks(spoil, da.ones(6, chunks=3))
    assert caught.value.span.line == spoil.py_func.__code__.co_firstlineno + 2


def test_declared_signatures_get_blocks_that_may_be_written_to():
    @weft.jit("float64[::1](float64[::1])")
    def doubled(a):
        for i in weft.prange(a.size):
            a[i] *= 2
        return a

    x = np.arange(6.0)
    x.flags.writeable = False
    np.testing.assert_array_equal(
        weft.dask.map_blocks(doubled, da.from_array(x, chunks=3)).compute(), 2 * np.arange(6.0)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: weft.dask.map_blocks(ramp, x), "weft.dask.launch"),
        (lambda x: weft.dask.map_blocks(np.sqrt, x), "decorate"),
        (lambda x: weft.dask.map_blocks(total, x), "weft.dask.reduce"),
        (lambda x: weft.dask.stencil(total, x, 1), "weft.dask.reduce"),
        (lambda x: weft.dask.launch(rooted, x), "weft.cuda.jit"),
        (lambda x: weft.dask.launch(smooth_kernel, x, x), "may write"),
        (lambda x: weft.dask.launch(ramp, Result("f8"), 0, 0, 1), "chunked"),
        (lambda x: weft.dask.launch(smooth_kernel, x, Updated(x.rechunk(7))), "rechunk"),
        (lambda x: weft.dask.launch(smooth_kernel, x, Result("f8"), axes=(0, 0, 1, 1)), "axes="),
        (lambda x: weft.dask.launch(smooth_kernel, x, Result("f8"), threads=64), "threads"),
        (lambda x: weft.dask.reduce(total, x, x.rechunk(7), combine=both), "rechunk"),
        (lambda x: weft.dask.reduce(total, 1.0, combine=both), "no chunked array"),
        (lambda x: weft.dask.reduce(total, x, combine=both, split_every=1), "split_every"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(chunked, call, message):
    with pytest.raises((ArgumentError, SignatureError)) as caught:
        call(chunked)
    assert message in f"{caught.value} {caught.value.hint}"


@pytest.mark.spread
@pytest.mark.parametrize("boundary", ["reflect", "periodic", "nearest", 1.5])
@pytest.mark.parametrize("function", [smooth, smooth_kernel], ids=["function", "kernel"])
def test_a_stencil_does_not_see_chunks(numbers, chunked, function, boundary):
    made = weft.dask.stencil(function, chunked, 1, boundary)
    mode = {"reflect": "symmetric", "periodic": "wrap", "nearest": "edge"}.get(boundary, "constant")
    padded = np.pad(numbers, 1, mode, **({"constant_values": boundary} if mode == "constant" else {}))
    np.testing.assert_array_equal(made.compute(), smooth(padded)[1:-1, 1:-1])


def test_a_stencil_that_ends_with_the_array(numbers, chunked):
    np.testing.assert_array_equal(weft.dask.stencil(smooth, chunked, 1).compute(), smooth(numbers))


def test_a_launch_fills_and_updates_arrays_and_leaves_its_arguments_alone(numbers, chunked):
    y = da.from_array(numbers.copy(), chunks=chunked.chunks)
    made, where = weft.dask.launch(axpy, 2.0, chunked, Updated(y), Result(np.int32), Origin(0))
    np.testing.assert_array_equal(y.compute(), numbers)
    assert (made.dtype, where.dtype) == (np.float64, np.int32)
    np.testing.assert_array_equal(made.compute(), numbers + 2.0 * numbers)
    rows, columns = np.arange(57) // 20 * 20, np.arange(83) % 30
    np.testing.assert_array_equal(where.compute(), rows[:, None] * 1000 + columns)


@pytest.mark.parametrize(("chunks", "threads"), [((7, 9), None), ((16, 5), (4, 16))])
def test_a_launch_knows_where_its_chunk_is(chunks, threads):
    made = weft.dask.launch(
        ramp, Result("int64"), Origin(0), Origin(1), Extent(1), shape=(23, 31), chunks=chunks, threads=threads
    )
    np.testing.assert_array_equal(made.compute(), np.arange(23 * 31).reshape(23, 31))


def test_threads_over_some_axes(numbers, chunked):
    made = weft.dask.launch(row_sums, chunked, Result(np.float64), axes=(0,))
    for i, j in [(0, 0), (1, 1), (2, 2)]:
        block = numbers[20 * i : 20 * i + 20, 30 * j : 30 * j + 30]
        np.testing.assert_array_equal(made.blocks[i, j].compute()[:, 0], np.cumsum(block, axis=1)[:, -1])


def test_a_reduction_is_the_same_tree_every_time(numbers, chunked):
    made = weft.dask.reduce(total, chunked, combine=both, split_every=2)
    parts = [
        total(np.ascontiguousarray(b)) for b in map(operator.methodcaller("compute"), chunked.blocks.ravel())
    ]
    while len(parts) > 1:
        parts = [both(*pair) if len(pair) == 2 else pair[0] for pair in zip_pairs(parts)]
    assert made.compute() == parts[0]
    assert made.compute(scheduler="threads") == parts[0]
    assert math.isclose(parts[0][0], numbers.sum(), rel_tol=1e-12) and parts[0][1] == numbers.max()


def zip_pairs(parts):
    return [parts[n : n + 2] for n in range(0, len(parts), 2)]


def test_arrays_are_reduced_too():
    @weft.jit
    def histogram(a):
        counts = np.zeros(8, np.int64)
        for value in a:
            counts[value] += 1
        return counts

    values = np.random.default_rng(1).integers(0, 8, 1000)
    made = weft.dask.reduce(histogram, da.from_array(values, chunks=90), combine=np.add)
    np.testing.assert_array_equal(made.compute(), np.bincount(values, minlength=8))


def test_tasks_are_named_by_what_functions_do():
    def made(amount):
        return weft.jit(lambda a: a + amount)

    assert tokenize(made(1.0)) == tokenize(made(1.0)) != tokenize(made(2.0))
    assert tokenize(weft.jit(fastmath=True)(rooted.py_func)) != tokenize(rooted)
    assert tokenize(cuda.jit(ramp.py_func)) == tokenize(ramp)
