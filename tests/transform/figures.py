"""Control-flow graphs of functions as text, before and after vectorization, for the examples of the papers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from transform.chain import analysed, vectorization_stages
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.divergent_loops import BranchDivergence

WIDTH = 4
DECLARATIONS = """
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
declare i1 @weft.mask() convergent nounwind willreturn memory(none)
declare double @llvm.log.f64(double) nounwind speculatable willreturn memory(none)
"""

_LABEL = re.compile(r"^([\w.]+):(?: predicate\((.*)\))?$", re.MULTILINE)
_TARGET = re.compile(r"label %([\w.]+)")

Facts = Callable[[Function], BranchDivergence]


def parsed(text: str) -> tuple[Module, Function]:
    """A module of one function; parameters named ``t`` or ``t.*`` differ from lane to lane, others do not."""
    module = read_module(textwrap.dedent(text) + DECLARATIONS)
    verify(module)
    function = next(module.definitions())
    for argument in function.args:
        if argument.name.split(".")[0] != "t":
            argument.attributes = (*argument.attributes, "inreg")
    return module, function


def graph_of(function: Function, facts: BranchDivergence | None = None) -> str:
    """One line a block: its name, a question mark where it ends in a divergent branch, mask and successors.

    Names are those of the printed function, where no two are alike.
    """
    parts = _LABEL.split(write_function(function))[1:]
    lines = []
    for block, name, mask, body in zip(function.blocks, parts[::3], parts[1::3], parts[2::3], strict=True):
        divergent = facts is not None and facts.is_divergent_branch(block)
        targets = " ".join(dict.fromkeys(_TARGET.findall(body)))
        line = f"{name}{'?' if divergent else ''}{f' [{mask}]' if mask else ''}"
        lines.append(f"{line} -> {targets}" if targets else line)
    return "\n".join(lines)


def redrawn(text: str, facts: Facts | None = None) -> tuple[str, str, Function]:
    """The graph before and after vectorization, and the function behind it."""
    facts = facts or analysed(WIDTH)
    module, function = parsed(text)
    before = graph_of(function, facts(function))
    for _ in vectorization_stages(module, function, lambda: facts(function)):
        verify(module)
    return before, graph_of(function), function


def figure(text: str, facts: Facts | None = None) -> str:
    """Golden text: both graphs, and the code behind the passes."""
    before, after, function = redrawn(text, facts)
    return f"before\n{before}\n\nafter\n{after}\n\n{write_function(function)}"
