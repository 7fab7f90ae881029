"""Why something varies, in lines for people."""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.ir import BasicBlock, Value
from weft.report.source_map import SourceMap


def explain_value(divergence: Divergence, value: Value, source: SourceMap) -> tuple[str, ...]:
    """The chain of causes for which a value is not uniform."""
    return ()


def explain_branch(divergence: Divergence, block: BasicBlock, source: SourceMap) -> tuple[str, ...]:
    """The chain of causes for which the branch of a block is divergent."""
    return ()
