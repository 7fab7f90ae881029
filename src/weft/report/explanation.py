"""Why something varies, in lines for people."""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.explanation import explain
from weft.analysis.explanation.words import Words
from weft.ir import BasicBlock, Instruction, Value
from weft.report.source_map import SourceMap


def explain_value(divergence: Divergence, value: Value, source: SourceMap) -> tuple[str, ...]:
    """The chain of causes for which a value is not uniform, from the value to where threads begin to differ."""
    return _texts(explain.explain_value(divergence, value, _words(source)))


def explain_branch(divergence: Divergence, block: BasicBlock, source: SourceMap) -> tuple[str, ...]:
    """The chain of causes for which the branch of a block is divergent."""
    return _texts(explain.explain_branch(divergence, block, _words(source)))


def explain_activation(divergence: Divergence, block: BasicBlock, source: SourceMap) -> tuple[str, ...]:
    """The chain of causes for which a block runs for some threads only."""
    return _texts(explain.explain_activation(divergence, block, _words(source)))


def _texts(steps: tuple[explain.Step, ...]) -> tuple[str, ...]:
    return tuple(step.text for step in steps)


def _words(source: SourceMap) -> Words:
    def line(value: Value) -> int | None:
        place = source.place(value) if isinstance(value, Instruction) else None
        return None if place is None else place.line

    return Words(line, source.value_name)
