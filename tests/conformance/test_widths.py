"""The suite at other vector widths than the default: a fixed sample of it, all of it with ``WEFT_FUZZ``.

Of the sample, passes are checked for one case in `CHECKED`.
"""

import os
import zlib

import pytest

from conformance.cases import Case
from conformance.runner import assert_same, compiled, expected
from conformance.suite import every_case

WIDTHS = (1, 4, 16, 32)
SHARE = 1 if os.environ.get("WEFT_FUZZ") else 45
"""Of so many cases one runs at each width."""

CHECKED = 1 if os.environ.get("WEFT_FUZZ") else 4

SAMPLES = [
    pytest.param(case, width, number // SHARE % CHECKED == 0, id=f"{name}-{width}")
    for name, case in every_case().items()
    for width in WIDTHS
    if (number := zlib.crc32(f"{name} {width}".encode())) % SHARE == 0
]


@pytest.mark.parametrize(("case", "width", "checked"), SAMPLES)
def test_agrees_at_width(case: Case, width: int, checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1" if checked else "0")
    assert_same(compiled(case, width=width), expected(case), case.ulp, f"width {width}")
