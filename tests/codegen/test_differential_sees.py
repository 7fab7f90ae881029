"""The comparison of random programs finds errors that are put into the compiler."""

import sys
from collections.abc import Callable

import pytest

from codegen.differential import choice_of, judge
from weft.transform.linearization import masks

ENOUGH = 60


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (masks.both, lambda builder, mask, condition, name="": condition),
        (masks.either, lambda builder, a, b, name="": a),
        (masks.negated, lambda builder, condition: condition),
    ],
    ids=["a mask forgets the one around it", "one edge too few", "the other side"],
)
def test_an_error_shows(
    right: Callable[..., object], wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    for name, module in list(sys.modules.items()):
        if name.startswith("weft.") and getattr(module, right.__name__, None) is right:
            monkeypatch.setattr(module, right.__name__, wrong)
    assert any(judge(choice_of(seed)).wrong for seed in range(ENOUGH))
