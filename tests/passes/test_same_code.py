"""The same source, types and options give the same code, wherever the compiler's objects lie in memory."""

import random

import pytest

from examples.irregular.__main__ import problems_of
from weft.cuda.compiled import CompiledKernel

ROUNDS = 5


def scattered(rng: random.Random) -> list[object]:
    """Memory with holes, so that objects that are made one after the other do not lie so."""
    objects = [object() for _ in range(50_000)]
    rng.shuffle(objects)
    return objects[::2]


@pytest.mark.parametrize(
    ("example", "kernel"), [("kd_tree", "nearest_together"), ("nab_cascade", "born_sums")]
)
def test_code_does_not_depend_on_where_objects_lie(
    example: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    problem = next(p for p in problems_of(example, 64) if p.kernel.py_func.__name__ == kernel)
    first = problem.kernel.specialize(*problem.arguments)
    rng, kept = random.Random(3), []
    for _ in range(ROUNDS):
        kept.append(scattered(rng))
        assert CompiledKernel(first.source, first.types).lowered().text == first.lowered().text
