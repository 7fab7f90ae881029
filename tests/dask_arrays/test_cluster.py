"""Compiled functions on a cluster of processes: compiled once, the same bits, nothing lost with a worker."""

import os
import signal
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import xarray
from distributed import Client, LocalCluster

import weft.dask
from dask_arrays.functions import both, dot, escape, rooted, total

NUMBERS = np.random.default_rng(7).normal(size=(96, 120))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def client(cache):
    """Two workers, which do not check passes: kernels are not kept where these are checked."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WEFT_CHECK", "0")
        environment.setenv("WEFT_CACHE_DIR", str(cache))
        environment.delenv("WEFT_NUM_THREADS", raising=False)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@pytest.fixture
def chunked():
    return da.from_array(NUMBERS, chunks=(32, 40))


def events_of(call):
    with weft.profile() as seen:
        call()
    return [event.kind for event in seen.events]


def test_workers_of_a_machine_compile_once(client):
    @weft.jit
    def fresh(a):
        s = 0.0
        for i in weft.prange(a.size):
            if a[i] > 0:
                s += a[i] * 3
        return s

    kinds = client.run(events_of, lambda: fresh(np.ones(100)))
    assert sorted(kinds.values()) == [["compile", "call"], ["load", "call"]]


def test_what_workers_compute_is_what_one_machine_computes(client, chunked):
    made = weft.dask.map_blocks(escape, chunked, chunked / 2)
    np.testing.assert_array_equal(made.compute(), escape(NUMBERS, NUMBERS / 2))
    tree = weft.dask.reduce(total, chunked, combine=both)
    assert tree.compute() == tree.compute(scheduler="synchronous")


class Model:
    """An estimator, in the manner of scikit-learn."""

    def fit(self, x, y):
        self.weights = np.linalg.lstsq(x, y, rcond=None)[0]
        return self

    def predict(self, x):
        return dot(x, self.weights)


def test_functions_work_in_what_others_build_on_dask(client, chunked):
    np.testing.assert_array_equal(chunked.map_blocks(rooted, dtype=np.float32).compute(), rooted(NUMBERS))
    local = weft.vectorize(lambda a: a * 2.0 + 1.0)
    labelled = xarray.DataArray(chunked, dims=("y", "x"))
    made = xarray.apply_ufunc(local, labelled, dask="parallelized", output_dtypes=[np.float64])
    np.testing.assert_array_equal(made.values, NUMBERS * 2.0 + 1.0)
    model = Model().fit(NUMBERS, np.arange(96.0))
    rows = chunked.rechunk((32, -1))
    predicted = rows.map_blocks(model.predict, dtype=np.float64, drop_axis=1)
    np.testing.assert_array_equal(predicted.compute(), model.predict(NUMBERS))


def slowly(block):
    time.sleep(0.1)
    return escape(block, block)


def test_nothing_is_lost_with_a_worker_that_is_killed(client, chunked):
    made = client.compute(chunked.rechunk(16).map_blocks(slowly, dtype=np.int64))
    processes = client.run(os.getpid)
    time.sleep(0.5)
    assert not made.done()
    os.kill(next(iter(processes.values())), signal.SIGKILL)
    np.testing.assert_array_equal(made.result(timeout=60), escape(NUMBERS, NUMBERS))


def test_a_task_has_one_thread_unless_more_are_given(client):
    client.wait_for_workers(2)
    assert set(client.run(weft.get_num_threads).values()) == {1}
    weft.dask.share_cores(client, 3)
    assert set(client.run(weft.get_num_threads).values()) == {3}
