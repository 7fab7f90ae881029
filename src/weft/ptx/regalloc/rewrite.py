"""The function with its registers allocated: words for registers, spill code around accesses, moves on edges.

Instruction for instruction: everything that was there stays, in its order. Postcondition: predicates apart, the
registers that hold values at any point take no more words than the allocation has, base addresses included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from weft.ptx.instructions import variant_of
from weft.ptx.regalloc.allocation import Allocation, Problem, Words
from weft.ptx.regalloc.moves import place_moves
from weft.ptx.regalloc.places import Names, Place, Site
from weft.ptx.regalloc.reuse import Reuse
from weft.ptx.registers import Replacement, register_types, replace_registers, updates, writes
from weft.ptx.syntax import (
    Function,
    Instruction,
    Integer,
    Label,
    Register,
    RegisterDeclaration,
    RegisterNames,
    Statement,
    Variable,
)
from weft.ptx.types import bits_of


@dataclass(slots=True)
class SpillCode:
    """Where spilled values go, and what that needs.

    Attributes
    ----------
    places
        For each spilled value.
    names
        How words and arrays are called.
    setup
        Instructions at the entry, for base addresses.
    variables
        Arrays of the function.
    warp_base, thread_base
        Registers of the base addresses.
    syncs
        Instructions whose stores come behind a ``bar.warp.sync``.
    """

    places: Mapping[str, Place]
    names: Names
    setup: list[Instruction] = dataclasses.field(default_factory=list)
    variables: list[Variable] = dataclasses.field(default_factory=list)
    warp_base: Register | None = None
    thread_base: Register | None = None
    syncs: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Inserted:
    """An instruction that was not in the source.

    Parameters
    ----------
    instruction
        It.
    register
        The value that it is for; empty for set-up and moves.
    kind
        ``reload``, ``store``, ``sync``, ``setup`` or ``move``.
    at
        The number of the instruction of the source that it belongs to; -1 for set-up.
    """

    instruction: Instruction
    register: str
    kind: str
    at: int


@dataclass(slots=True)
class Rewritten:
    """The function, and what was inserted into it."""

    function: Function
    inserted: list[Inserted]


def rewrite(problem: Problem, allocation: Allocation, reuse: Reuse, code: SpillCode) -> Rewritten:
    """Put words and spill code into the function of a problem."""
    return _Writer(problem, allocation, reuse, code).run()


@dataclass(slots=True)
class _Writer:
    problem: Problem
    allocation: Allocation
    reuse: Reuse
    code: SpillCode
    types: dict[str, str] = dataclasses.field(default_factory=dict)
    inserted: list[Inserted] = dataclasses.field(default_factory=list)
    vectors: dict[str, str] = dataclasses.field(default_factory=dict)
    guarded: dict[int, int] = dataclasses.field(default_factory=dict)
    own: dict[str, Register] = dataclasses.field(default_factory=dict)

    def run(self) -> Rewritten:
        function = self.problem.liveness.flow.function
        self.types = register_types(function)
        self.vectors = {
            name: name
            for s in function.body or ()
            if isinstance(s, RegisterDeclaration) and s.vector
            for name in s.names()
        }
        for instruction in function.instructions():
            if instruction.guard is not None:
                for name in writes(instruction):
                    if self.problem.words[name] and name not in (
                        *self.allocation.spilled,
                        *self.vectors,
                        *self.own,
                    ):
                        self.own[name] = self.fresh(self.bits(name))
        body: list[Statement] = [*self.code.variables, *self.code.setup]
        self.inserted += [Inserted(i, "", "setup", -1) for i in self.code.setup]
        moves = place_moves(self.problem.liveness.flow, self.allocation, self.register_of)
        self.inserted += [Inserted(i, "", "move", -1) for i in moves.made]
        number = 0
        for position, statement in enumerate(function.body or ()):
            body += moves.before.get(position, ())
            statement = moves.replaced.get(position, statement)
            if isinstance(statement, Instruction):
                body += self.around(statement, number, moves.ahead.get(number, ()))
                number += 1
            elif isinstance(statement, RegisterDeclaration):
                kept = _predicates_and_vectors(statement)
                body += [kept] if kept is not None else []
            else:
                body.append(statement)
            body += moves.behind.get(position, ())
        body += moves.at_end
        body = [*self.declarations(), *body]
        return Rewritten(dataclasses.replace(function, body=body), self.inserted)

    def fresh(self, bits: int) -> Register:
        """A register for what is written under a guard."""
        number = self.guarded.get(bits, 0)
        self.guarded[bits] = number + 1
        return Register(f"{self.code.names.guarded[bits]}{number}")

    def declarations(self) -> list[Statement]:
        bases = [r for r in (self.code.warp_base, self.code.thread_base) if r is not None]
        scratch = max((word for sides in self.allocation.scratch for ws in sides for word in ws), default=-1)
        count = max(self.problem.budget, scratch + 1) + len(bases)
        used = {
            self.bits(name)
            for name, words in self.problem.words.items()
            if words and name not in self.vectors
        }
        used |= {32} if count else set()
        found: list[Statement] = [
            RegisterDeclaration(f"b{bits}", (RegisterNames(prefix, count),))
            for bits, prefix in self.code.names.prefixes.items()
            if bits in used
        ]
        for bits, count in self.guarded.items():
            names = RegisterNames(self.code.names.guarded[bits], count)
            found.append(RegisterDeclaration(f"b{bits}", (names,)))
        return found

    def bits(self, name: str) -> int:
        return bits_of(self.types[name])

    def register_of(self, name: str, words: Words) -> Register:
        """The register of a value that is in some words; vectors and predicates keep theirs."""
        if name in self.vectors or not words or name not in self.types:
            return Register(name)
        if name in self.own:
            return self.own[name]
        return self.code.names.register(words, self.bits(name))

    def around(
        self, instruction: Instruction, number: int, ahead: tuple[Instruction, ...]
    ) -> list[Statement]:
        """An instruction with its spill code; `ahead` goes right before it."""
        allocation = self.allocation
        before, behind = allocation.scratch[number]
        result: list[Statement] = []
        reloads = sorted(self.reuse.reloads[number], key=lambda n: -self.place(n).demand(self.bits(n)).reload)
        for name in reloads:
            site = self.site(name, self.reuse.sources[number][name], before)
            result += self.note(self.place(name).reload(site), name, "reload", number)
        result += ahead
        read = {**allocation.reads[number], **self.reuse.sources[number]}
        alone = self.written_alone(instruction, number)
        made_of = instruction
        if alone and set(alone) == set(writes(instruction)) and not variant_of(instruction).effects:
            # Only the store asks for the guard: what it does not store may be anything.
            made_of, alone = dataclasses.replace(instruction, guard=None), {}
        for name, register in alone.items():
            # A name that is written under a guard alone would be live around loops.
            cleared = Instruction("mov", (f"b{self.bits(name)}",), (register, Integer(0)))
            result += self.note([cleared], name, "store", number)
        result.append(self.renamed(made_of, read, allocation.writes[number], alone))
        stores = self.reuse.stores[number]
        made = [
            (name, self.place(name).store(
                dataclasses.replace(
                    self.site(name, allocation.writes[number][name], behind),
                    guard=instruction.guard, own=alone.get(name),
                )
            ))
            for name in stores
        ]  # fmt: skip
        if number in self.code.syncs and any(code for _, code in made):
            sync = Instruction("bar", ("warp", "sync"), (Integer(0xFFFFFFFF),))
            result += self.note([sync], "", "sync", number)
        for name, code in made:
            result += self.note(code, name, "store", number)
        return result

    def written_alone(self, instruction: Instruction, number: int) -> dict[str, Register]:
        """Registers of spilled values that are written under a guard."""
        if instruction.guard is None:
            return {}
        both = updates(instruction)
        return {
            name: self.fresh(self.bits(name))
            for name in self.allocation.writes[number]
            if name in self.allocation.spilled and name not in both
        }

    def place(self, name: str) -> Place:
        return self.code.places[name]

    def site(self, name: str, words: Words, scratch: Words) -> Site:
        code = self.code
        return Site(code.names, words, self.bits(name), scratch, code.warp_base, code.thread_base)

    def note(self, code: list[Instruction], name: str, kind: str, number: int) -> list[Instruction]:
        self.inserted += [Inserted(i, name, kind, number) for i in code]
        return code

    def renamed(
        self,
        instruction: Instruction,
        read: Mapping[str, Words],
        written: Mapping[str, Words],
        alone: Mapping[str, Register],
    ) -> Instruction:
        def by(table: Mapping[str, Words], own: Mapping[str, Register]) -> Replacement:
            def replacement(register: Register) -> Register:
                found = own.get(register.name) or self.register_of(
                    register.name, table.get(register.name, ())
                )
                return Register(found.name, register.component)

            return replacement

        return replace_registers(instruction, by(read, {}), by({**read, **written}, alone))


def _predicates_and_vectors(declaration: RegisterDeclaration) -> RegisterDeclaration | None:
    """What stays declared: predicates, and vector registers."""
    return declaration if declaration.type == "pred" or declaration.vector else None


def unused_name(function: Function, wanted: str, taken: frozenset[str]) -> str:
    """A name that nothing has which stays in the function, nor another one with a number behind it."""
    found, number = wanted, 0
    names = taken | _names_in(function)
    while any(name == found or (name.startswith(found) and name[len(found) :].isdigit()) for name in names):
        number += 1
        found = f"{wanted}_{number}_"
    return found


def _names_in(function: Function) -> frozenset[str]:
    found = {p.name for p in (*function.returns, *function.parameters)} | {function.name}
    for statement in function.body or ():
        if isinstance(statement, RegisterDeclaration):
            found.update(statement.names() if _predicates_and_vectors(statement) else ())
        elif isinstance(statement, Label):
            found.add(statement.name)
        elif isinstance(statement, Variable):
            found.update(RegisterNames(statement.name, statement.count).names())
    return frozenset(found)
