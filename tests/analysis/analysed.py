"""Functions given as text, analysed, with their parts by name."""

from __future__ import annotations

import textwrap

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import Shape
from weft.ir import BasicBlock, Function, Instruction, Module, Value
from weft.ir.reader import read_module

DECLARATIONS = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
declare i1 @weft.mask() convergent nounwind willreturn memory(none)
declare i32 @weft.shfl.idx.i32(i32, i32) convergent nounwind willreturn memory(none)
declare i64 @weft.ballot(i1) convergent nounwind willreturn memory(none)
"""


class Analysed:
    """A function and what was found of it; values and blocks are asked for by name."""

    def __init__(
        self, text: str, *, function: str | None = None, initial: dict[str, Shape] | None = None, **parts
    ):
        text = textwrap.dedent(text)
        declared = "\n".join(
            line for line in DECLARATIONS.splitlines() if line and line.split("(")[0].split("@")[1] not in
            {part.split("(")[0] for part in text.split("declare ") for part in part.split("@")[1:2]}
        )  # fmt: skip
        self.module: Module = read_module(text + "\n" + declared)
        self.function: Function = (
            self.module.functions[function] if function else next(self.module.definitions())
        )
        given = {self.value(name): shape for name, shape in (initial or {}).items()}
        self.divergence: Divergence = analyze_divergence(self.function, initial=given, **parts)

    def value(self, name: str) -> Value:
        for argument in self.function.args:
            if argument.name == name:
                return argument
        return self.instruction(name)

    def instruction(self, name: str) -> Instruction:
        return next(i for i in self.function.instructions() if i.name == name)

    def block(self, name: str) -> BasicBlock:
        return next(b for b in self.function.blocks if b.name == name)

    def shape(self, name: str) -> str:
        return str(self.divergence.shape(self.value(name)))

    def is_uniform(self, name: str) -> bool:
        return self.divergence.is_uniform(self.value(name))

    def uniform(self, names: str) -> list[str]:
        """Those of the names, separated by spaces, that are uniform."""
        return [name for name in names.split() if self.is_uniform(name)]

    def divergent(self) -> list[str]:
        """The names of blocks that end in a divergent branch."""
        return [block.name for block in self.divergence.divergent_branches]

    def is_uniform_object(self, name: str) -> bool:
        return self.divergence.is_uniform_object(self.instruction(name))
