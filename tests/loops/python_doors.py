"""Runs drawn modules of Python by some of their doors, beside the same text in plain Python (`conformance.reference`).

A module has `plain`, a function of loops over `range`, and, unless iterations are in order, `lanes`, with a loop over
`prange`, and `kernel`, with a thread for each of its iterations; where it has `scalar`, that makes the last of a call's
arrays elementwise of the others. Doors, widths and levels of instructions are drawn.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pytest

import weft
from conformance import reference
from weft import cuda
from weft.machine.host import chosen
from weft.switches import OPTIONAL_PASSES

LEVELS = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
WIDTHS = (None, None, None, 1, 1, 4, 8, 16)


class Drawn(Protocol):
    """A program that is drawn by a seed."""

    seed: int
    in_order: bool

    def text(self) -> str:
        """Its module."""
        ...


def levels() -> list[str]:
    """The levels of instructions up to that which code is made for."""
    features = chosen().features
    return [level for level, feature in LEVELS.items() if feature in features]


def functions(text: str, name: str) -> dict[str, Callable[..., None]]:
    """What a text defines; `name` is the file that it is said to be in."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    found: dict[str, Any] = {"__name__": "drawn"}
    exec(compile(text, name, "exec"), found)
    return found


def compare(
    program: Drawn,
    calls: Sequence[tuple[Callable[[], list[Any]], int]],
    counts: dict[str, int],
) -> None:
    """Run a program by a door or two for some arguments, which are made anew each time, and threads.

    Raises
    ------
    AssertionError
        An array is not what plain Python makes of it.
    """
    rng = random.Random(f"doors {program.seed}")
    text = program.text()
    made = functions(text, f"<python {program.seed}>")
    doors = (
        ["plain", "auto"] if program.in_order else ["prange", "prange", "auto", "kernel", "kernel", "plain"]
    )
    doors += ["vectorize"] * (3 if "scalar" in made else 0)
    options: dict[str, Any] = {
        "width": rng.choice(WIDTHS),
        "boscc": rng.choice(("auto", "auto", "on", "off")),
    }
    if rng.random() < 0.15:
        options["without"] = tuple(rng.sample(sorted(OPTIONAL_PASSES), rng.choice((1, 5))))
    wanted: list[list[Any]] = []
    for arguments, _ in calls:
        wanted.append(arguments())
        reference.run(made["plain"], 1, 1, tuple(wanted[-1]))
    door, level = rng.choice(doors), rng.choice(levels() or [""])
    counts[door] = counts.get(door, 0) + 1
    function = _through(door, made, options)
    with pytest.MonkeyPatch.context() as patched:
        # Results are compared here, and not what each pass does.
        patched.setenv("WEFT_CHECK", "0")
        patched.setenv("WEFT_CPU", level)
        for (arguments, threads), expected in zip(calls, wanted, strict=True):
            given = arguments()
            function(threads, *given)
            for number, (a, b) in enumerate(zip(given, expected, strict=True)):
                where = f"seed {program.seed}, {door}, {level}, {options}, {threads} iterations, argument {number}"
                assert not isinstance(a, np.ndarray) or same(a, b), f"{where}\n{a}\nnot\n{b}\n{text}"


def _through(door: str, made: dict[str, Any], options: dict[str, Any]) -> Callable[..., None]:
    if door == "kernel":
        kernel = cuda.jit(made["kernel"], **options)
        return lambda threads, *arguments: kernel[threads // 32 + 1, 32](*arguments)
    if door == "vectorize":
        elementwise = weft.vectorize(**options)(made["scalar"])

        def store(threads: int, *arguments: Any) -> None:
            arguments[-1][:] = elementwise(*arguments[:-1])

        return store
    function = weft.jit(
        made["lanes" if door == "prange" else "plain"],
        **({"parallel": "auto"} if door == "auto" else {}),
        **options,
    )
    return lambda threads, *arguments: function(*arguments)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether all bits agree, but for those of NaNs."""
    if a.dtype.kind == "c":
        part = f"f{a.dtype.itemsize // 2}"
        return same(np.ascontiguousarray(a).view(part), np.ascontiguousarray(b).view(part))
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and bool((np.signbit(a) == np.signbit(b))[a == a].all())
