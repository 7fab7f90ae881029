"""Which frozen positions are numbers like any other."""

import pytest

from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.groups.settled_positions import settle_positions

BELOW = "i64 noundef range(i64 0, 2147483648)"
SIZE = "i64 noundef range(i64 1, 1025)"


def program(
    body: str, arguments: str = f"{BELOW} %g, {SIZE} %s, {BELOW} %t, i64 %any, i64 noundef %some"
) -> str:
    return f"define i64 @f({arguments}) {{\n  {body}\n  %z = freeze i64 %v\n  ret i64 %z\n}}\n"


@pytest.mark.parametrize(
    "body",
    [
        "%m = mul nuw nsw i64 %g, %s\n  %v = add nuw nsw i64 %m, %t",
        "%u = add nsw i64 %t, -1\n  %v = sub nsw i64 %u, %g",
        "%v = add i64 %some, %some",
        "%u = freeze i64 %t\n  %v = add nuw nsw i64 %u, 1",
    ],
)
def test_positions_are_settled(body: str) -> None:
    module = read_module(program(body))
    assert settle_positions(module.functions["f"]) > 0
    verify(module)
    assert "freeze" not in write_module(module)


@pytest.mark.parametrize(
    "body",
    [
        "%v = add nsw i64 %t, %any",
        "%v = add nsw i64 %some, 1",
        "%v = add nuw nsw i64 %t, -1",
        "%v = sub nuw i64 %t, %g",
        "%m = mul nsw i64 %g, %g\n  %n = mul nsw i64 %m, %s\n  %v = mul nsw i64 %n, %s",
        "%v = udiv i64 %g, %t",
    ],
)
def test_what_may_be_poison_stays_frozen(body: str) -> None:
    module = read_module(program(body))
    assert settle_positions(module.functions["f"]) == 0
    assert "freeze" in write_module(module)


def test_limits_of_what_wraps_around_are_those_of_its_type() -> None:
    body = "%w = add i64 %some, 1\n  %v = add nsw i64 %w, 1"
    assert settle_positions(read_module(program(body)).functions["f"]) == 0
