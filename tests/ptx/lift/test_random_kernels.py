"""Random kernels: lanes, one thread after the other and the interpreter leave the same memory."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

from generators.ptx_kernels import ROW, random_kernel
from weft.cuda.ptx.module import Module

_THREADS = 64
_BLOCKS = 2


def results(text: str, seed: int, **options: Any) -> np.ndarray[Any, Any]:
    """What a kernel writes."""
    x = np.random.default_rng(seed).integers(0, 200, 4 * _THREADS * _BLOCKS, np.uint32)
    out = np.zeros(ROW * _THREADS * _BLOCKS, np.uint32)
    Module(text, **options).k[_BLOCKS, _THREADS](out, x)
    return out


@pytest.mark.parametrize("seed", range(int(os.environ.get("WEFT_FUZZ", "0")) or 2))
def test_lanes_do_what_the_interpreter_does(seed: int) -> None:
    text = random_kernel(random.Random(seed), _THREADS)
    wanted = results(text, seed, debug=True)
    for options in ({}, {"width": 1}):
        np.testing.assert_array_equal(results(text, seed, **options), wanted, err_msg=text)
