"""Runs a case three ways and compares: plain Python, weft's interpreter, machine code."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

from conformance import reference
from conformance.cases import Case
from weft.errors import SanitizerError

CHECKED = 1 if os.environ.get("WEFT_FUZZ") else 4
"""Of so many cases of one kernel one has its passes checked: those of other types are the same passes."""

SHARE = 1 if os.environ.get("WEFT_FUZZ") else 3
"""Of so many kernels one has its passes checked."""


ASKED = os.environ.get("WEFT_CHECK", "0")
"""How many passes the tests check, where one does not say otherwise."""


@contextlib.contextmanager
def passes_checked(wanted: bool) -> Iterator[None]:
    """Let launches check passes, where the tests do so at all, if they are wanted to."""
    with mock.patch.dict(os.environ, {"WEFT_CHECK": ASKED if wanted else "0"}):
        yield


def expected(case: Case) -> tuple:
    """Return the arguments of a case as they must be after the launch."""
    args = case.args()
    if case.expect is not None:
        case.expect(*args)
    else:
        grid, block = case.launch()
        reference.run(case.kernel, grid, block, args, case.dynamic_bytes)
    return args


def compiled(case: Case, **options: Any) -> tuple:
    """Return the arguments of a case after weft has run it with these options of `cuda.jit`."""
    return compiled_many([case], **options)[0]


def compiled_many(cases: Sequence[Case], **options: Any) -> list[tuple]:
    """Return the arguments after weft has run one kernel, compiled once, with several launches."""
    from weft import cuda

    kernel = cuda.jit(**options)(cases[0].kernel)
    results = []
    for case in cases:
        args = case.args()
        grid, block = case.launch()
        kernel[grid, block, 0, case.dynamic_bytes](*args)
        results.append(args)
    return results


def check(case: Case, **options: Any) -> None:
    """Assert that interpreter and machine code both do what the kernel says.

    The options are those of `cuda.jit` (``width=4``) and go to the machine code only.
    """
    wanted = expected(case)
    chosen = zlib.crc32(case.kernel.__name__.encode()) % SHARE == 0
    with passes_checked(chosen and case.number % CHECKED == 0):
        assert_same(compiled(case, **options), wanted, case.ulp, "machine code")
    if case.undefined:
        with pytest.raises(SanitizerError):
            compiled(case, debug=True)
    else:
        assert_same(compiled(case, debug=True), wanted, case.ulp, "interpreter")


def assert_same(got: tuple, wanted: tuple, ulp: int, who: str) -> None:
    """Assert that two argument lists hold the same arrays."""
    for position, (mine, theirs) in enumerate(zip(_arrays(got), _arrays(wanted), strict=True)):
        where = f"{who}: array {position}"
        if mine.dtype.names:
            for field in mine.dtype.names:
                _assert_same_array(mine[field], theirs[field], ulp, f"{where}, field {field}")
        else:
            _assert_same_array(mine, theirs, ulp, where)


def _arrays(args: tuple) -> list[np.ndarray]:
    """Return every array among (possibly nested) arguments, whole where the argument is a view."""
    found: list[np.ndarray] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            found.append(
                arg.base if isinstance(arg.base, np.ndarray) and arg.dtype == arg.base.dtype else arg
            )
        elif isinstance(arg, tuple):
            found.extend(_arrays(arg))
    return found


def _assert_same_array(got: np.ndarray, wanted: np.ndarray, ulp: int, where: str) -> None:
    if got.dtype.kind == "c":
        real = np.dtype(f"f{got.dtype.itemsize // 2}")
        got, wanted = np.ascontiguousarray(got).view(real), np.ascontiguousarray(wanted).view(real)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted, err_msg=where)
        return
    assert got.shape == wanted.shape, where
    if not got.size:
        return
    distance = ulp_distance(got, wanted)
    worst = int(np.argmax(distance))
    assert distance.flat[worst] <= ulp, (
        f"{where}: element {worst} is {got.flat[worst]!r}, not {wanted.flat[worst]!r}: "
        f"{distance.flat[worst]} ulp, {np.count_nonzero(distance > ulp)} elements of {distance.size}"
    )


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how many floats lie between corresponding elements; 0 for two NaN, and -0 is not 0."""
    kind = np.dtype(f"i{a.dtype.itemsize}")
    bits_a, bits_b = (np.ascontiguousarray(x).view(kind).astype(object) for x in (a, b))
    low = -(1 << (8 * kind.itemsize - 1))
    order_a, order_b = (np.where(bits < 0, low - bits - 1, bits) for bits in (bits_a, bits_b))
    distance = abs(order_a - order_b)
    return np.where(np.isnan(a) & np.isnan(b), 0, distance).reshape(a.shape)
