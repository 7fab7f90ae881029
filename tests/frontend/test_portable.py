"""Decorated functions in pickles: by name where an import finds them, else with code, source and what they refer to."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import weft
from weft import cuda

AMOUNT = 3


@weft.jit
def add(a):
    return a + AMOUNT


@weft.vectorize
def twice(a):
    return a * 2


@weft.guvectorize("void(float64[:], float64[:])", "(n)->()")
def total(row, out):
    for value in row:
        out[0] += value


@cuda.jit(device=True)
def device(a):
    return a + AMOUNT


@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    x[i] = device(x[i])


DECORATED = [add, twice, total, device, kernel]


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
@pytest.mark.parametrize("function", DECORATED, ids=str)
def test_what_its_name_leads_to_comes_back_as_itself(pickler: Any, function: Any) -> None:
    assert pickle.loads(pickler.dumps(function)) is function
    assert copy.deepcopy([function])[0] is function


def nested(amount: float) -> list[Any]:
    """Functions that no import finds, with closures, helpers, each other and themselves in them."""

    def plain(a):
        return a + amount + AMOUNT

    @weft.jit
    def even(n):
        return 1 if n == 0 else odd(n - 1)

    @weft.jit
    def odd(n):
        return 0 if n == 0 else even(n - 1)

    jitted = weft.jit(lambda a: plain(a) + even(4))
    vectorized = weft.vectorize(lambda a: jitted(a) + np.float64(device(a)))

    @weft.guvectorize("void(float64[:], float64[:])", "(n)->(n)", width=4)
    def general(row, out):
        for i in range(row.size):
            out[i] = jitted(row[i])

    inner = cuda.jit(device=True)(plain)

    @cuda.jit("void(float64[::1])", width=2)
    def launched(x):
        i = cuda.grid(1)
        x[i] = inner(x[i])

    return [jitted, vectorized, general, launched[1, 4]]


def results(functions: list[Any]) -> list[Any]:
    jitted, vectorized, general, launched = functions
    x = np.arange(4.0)
    launched(x)
    return [jitted(1.0), vectorized(np.arange(3.0)).tolist(), general(np.ones((2, 3))).tolist(), x.tolist()]


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_what_no_import_finds_is_written_out(pickler: Any) -> None:
    functions = nested(2.0)
    again = pickle.loads(pickler.dumps(functions))
    assert again[0] is not functions[0]
    assert results(again) == results(functions)
    assert again[2]._loop.options == functions[2]._loop.options
    assert again[3].kernel.signatures == functions[3].kernel.signatures


def test_equal_functions_in_pickles_become_one_object() -> None:
    def made(amount: float, table: Any = None) -> Any:
        return weft.jit(lambda a: a + amount + (0 if table is None else 1))

    def carried(function: Any) -> Any:
        return pickle.loads(pickle.dumps(function))

    one = carried(made(1.0))
    assert carried(made(1.0)) is one and one(2.0) == 3.0
    assert carried(made(2.0)) is not one
    assert carried(weft.jit(fastmath=True)(one.py_func)) is not one
    # A list may have been changed in the meantime.
    assert carried(made(1.0, [])) is not carried(made(1.0, []))


def test_another_process_compiles_what_was_written_out() -> None:
    functions = nested(5.0)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(results, functions).result() == results(functions)
        assert pool.submit(type(add).__call__, add, 4).result() == 7


MAIN = """
import multiprocessing, pickle, sys
from concurrent.futures import ProcessPoolExecutor
import cloudpickle
import numpy as np
import weft

class Cfg:
    N = 40

def helper(a):
    return a + Cfg.N

@weft.jit
def function(a):
    return helper(a) + 1

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(function)) is function
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(function, 1).result() == 42
    sys.stdout.buffer.write(cloudpickle.dumps(function))
"""


def test_functions_of_a_program_reach_processes_that_do_not_have_it(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(MAIN)
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, check=True)
    file.unlink()
    function = pickle.loads(done.stdout)
    assert function(1) == 42
    assert function.py_func(2) == 43


def test_functions_of_an_edited_file_are_those_that_were_written_out(tmp_path: Path) -> None:
    names: dict[str, Any] = {"weft": weft, "__name__": "__main__"}
    file = tmp_path / "cell.py"
    file.write_text("@weft.jit\ndef cell(a):\n    return a + 1\n")
    exec(compile(file.read_text(), str(file), "exec"), names)
    written = pickle.dumps(names["cell"])
    file.write_text("@weft.jit\ndef cell(a):\n    return a - 1\n")
    assert pickle.loads(written)(1) == 2
