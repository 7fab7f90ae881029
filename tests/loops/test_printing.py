"""What iterations of a parallel loop print."""

import numpy as np
import pytest

import weft
from weft import prange


def test_each_iteration_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where each of them does, so that all write what they print to the same place of the function's frame."""

    @weft.jit
    def show(values):
        for i in prange(values.shape[0]):
            print("value", i, values[i])
            print(f"<{i}>")

    show(np.arange(19) * 0.5)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        [f"value {i} {i * 0.5}" for i in range(19)] + [f"<{i}>" for i in range(19)]
    )


def test_a_plain_loop_prints_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    @weft.jit(parallel="auto")
    def show(values):
        for i in range(values.shape[0]):
            values[i] *= 2
            print(i, values[i])

    show(np.arange(9))
    assert capsys.readouterr().out == "".join(f"{i} {2 * i}\n" for i in range(9))
