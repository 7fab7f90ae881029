"""Loops that are not to be unrolled: ``.pragma "nounroll"`` of a module, a function, or where a loop begins."""

from __future__ import annotations

from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_never_unrolled
from weft.ptx import syntax
from weft.ptx.lift.body import Body

NOUNROLL = "nounroll"


def keep_rolled(body: Body) -> None:
    """Ask LLVM not to unroll the loops of a lifted function of which the source says so."""
    everywhere = any(isinstance(item, syntax.Pragma) and NOUNROLL in item.texts for item in body.text.body)
    everywhere |= any(d.name == "pragma" and NOUNROLL in d.values for d in body.source.directives)
    heads = {body.labels[name] for name in _marked(body.source.body or [])}
    if not heads and not everywhere:
        return
    view = cfg_of(body.function)
    for loop in loop_forest(view.cfg).loops:
        if everywhere or view.blocks[loop.header] in heads:
            for latch in loop.latches:
                mark_never_unrolled(view.blocks[latch].terminator)


def _marked(statements: list[syntax.Statement]) -> set[str]:
    """The labels that the pragma stands behind, with no instruction between."""
    found, behind = set[str](), set[str]()
    for statement in statements:
        if isinstance(statement, syntax.Label):
            behind.add(statement.name)
        elif isinstance(statement, syntax.Pragma) and NOUNROLL in statement.texts:
            found |= behind
        elif isinstance(statement, syntax.Instruction):
            behind = set()
    return found
