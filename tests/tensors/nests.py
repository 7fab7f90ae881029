"""Runs random nests under random brushes, on arrays in random layouts, beside plain Python.

PYTHONPATH=tests python -m tensors.nests [--programs N] [--from SEED]
"""

from __future__ import annotations

import argparse
import linecache
import random
from typing import Any

import numpy as np

import weft
from generators.nests import MARGIN, Nest
from weft import prange

MOST_LANES = 16


def brush_for(
    rng: random.Random, depth: int, most: int = MOST_LANES
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A brush of two dimensions or more for so many loops, and a projection."""
    rank = rng.randint(2, depth)
    while True:
        extents = tuple(rng.choice([1, 2, 2, 4, 4, 8, 16]) for _ in range(rank))
        if 2 <= np.prod(extents) <= most:
            return extents, tuple(rng.sample(range(rank), rank))


def compiled(source: str, name: str) -> Any:
    """The function of a source text, which tracebacks and the front end find by `name`."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"prange": prange}
    exec(compile(source, name, "exec"), scope)
    return scope["nest"]


def arguments(rng: random.Random, depth: int, most: int = 17) -> tuple[Any, ...]:
    """Arrays with small integers, and a number; the longest have that many rows or columns."""
    lengths = [0, 1, 2, 3, 5, 8, 9, most] if depth == 2 else [0, 1, 2, 3, 4, (most + 3) // 4]
    shape = [rng.choice(lengths) for _ in range(depth)]
    padded = [n + 2 * MARGIN for n in shape]
    data = np.random.default_rng(rng.randrange(1 << 30))
    longest = max(padded)
    return (
        data.integers(0, 9, padded).astype(np.float64),
        data.integers(0, 9, padded).astype(np.float32),
        data.integers(0, 9, padded[::-1]).astype(np.float64),
        data.integers(0, padded[0], longest),
        data.integers(0, 9, longest),
        np.full(padded, -1.0),
        rng.randint(0, 5),
    )


def layouts_for(rng: random.Random, depth: int) -> dict[int, tuple[int, ...]]:
    """Which arguments lie in blocks, and in which."""
    if rng.random() < 0.5:
        return {}
    return {
        k: tuple(rng.choice([1, 2, 2, 4, 8]) for _ in range(depth))
        for k in (0, 1, 2, 5)
        if rng.random() < 0.6
    }


def run(seed: int, most: int = MOST_LANES) -> None:
    """One program.

    Raises
    ------
    AssertionError
        The brushed nest computes something else than Python; the message has the program.
    """
    rng = random.Random(seed)
    depth = rng.choice([2, 2, 3])
    source = Nest(rng, depth).source()
    function = compiled(source, f"<nest {seed}>")
    extents, projection = brush_for(rng, depth, most)
    layouts = layouts_for(random.Random(-seed - 1), depth)
    # Some have the brush that weft chooses, if any, on arrays that fill it.
    chosen = seed % 4 == 3
    brushed = weft.jit(function) if chosen else weft.jit(function, brush=extents, projection=projection)
    for _ in range(2):
        given = arguments(rng, depth, 60 if chosen else 17)
        wanted = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in given)
        what = f"seed {seed}, brush {'of its own' if chosen else extents}, projection {projection}, layouts {layouts}, "
        what += f"shape {given[5].shape}, n {given[6]}\n{source}"
        expected = function(*wanted)
        origin = (seed % 3,) * depth
        given = tuple(
            weft.tiled(x, layouts[k], origin=origin) if k in layouts else x for k, x in enumerate(given)
        )
        found = brushed(*given)
        assert found == expected, f"{found} instead of {expected}: {what}"
        for k, (x, y) in enumerate(zip(given, wanted, strict=True)):
            assert np.array_equal(x, y), f"argument {k}: {what}"


def main() -> None:
    """Run programs, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.first, options.first + options.programs):
        try:
            run(seed, 64)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
        done = seed + 1 - options.first
        if done % 100 == 0 or done == options.programs:
            print(f"{done} programs, {wrong} wrong", flush=True)


if __name__ == "__main__":
    main()
