"""The kernels of the table in docs/divergence.md: reports find what is meant, and hints keep what is computed."""

import numpy as np
import pytest

from weft.report.model import FindingKind

NAMES = (
    "sums of rows",
    "fields of records",
    "arrays of any layout",
    "a table looked up at random",
    "iterations of many lengths",
    "two ways, mixed",
    "a histogram by atomics",
    "a number of 64 bits",
    "a factor looked up in a loop",
    "rows and columns by division",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_report_gives_the_hint_and_the_result_stays(name) -> None:
    # It compiles all of them, which would be part of every collection.
    from bench.hints.pairs import PAIRS

    assert {pair.name for pair in PAIRS} == set(NAMES)
    pair = next(pair for pair in PAIRS if pair.name == name)
    before, after = pair.sides(512)
    findings = before.kernel.report().functions[0].findings
    assert (pair.kind, pair.hint) in [(f.kind, f.hint) for f in findings[:3]]
    if after.kernel is not before.kernel and pair.kind is not FindingKind.ATOMIC:
        left = after.kernel.report().functions[0].findings
        assert sum(f.cycles for f in left) < sum(f.cycles for f in findings)
    before.run()
    after.run()
    np.testing.assert_allclose(after.result(), before.result(), rtol=1e-5)
