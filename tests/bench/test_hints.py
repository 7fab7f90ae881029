"""The kernels of the table in docs/divergence.md: reports find what is meant, and hints keep what is computed."""

import numpy as np
import pytest

from bench.hints.pairs import PAIRS
from weft.report.model import FindingKind


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_report_gives_the_hint_and_the_result_stays(pair) -> None:
    before, after = pair.sides(512)
    findings = before.kernel.report().functions[0].findings
    assert (pair.kind, pair.hint) in [(f.kind, f.hint) for f in findings[:3]]
    if after.kernel is not before.kernel and pair.kind is not FindingKind.ATOMIC:
        left = after.kernel.report().functions[0].findings
        assert sum(f.cycles for f in left) < sum(f.cycles for f in findings)
    before.run()
    after.run()
    np.testing.assert_allclose(after.result(), before.result(), rtol=1e-5)
