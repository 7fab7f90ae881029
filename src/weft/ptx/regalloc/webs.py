"""One name for one value: the registers of a body renamed by the definitions that reach the same reads.

Programs use a register again for something unrelated, and a register allocator must not spill both for one. A *web* is
a largest set of definitions of a register of which any two that meet in a read are together (Muchnick's term; a
φ-web of SSA form). Postcondition of `renamed_webs`: same instructions at the same places, every register a web of its
own; what is never reached is gone. Predicates and vector registers keep their names.
"""

from __future__ import annotations

import dataclasses

from weft.graph.cfg import reachable
from weft.ptx.flow import Flow, flow_of
from weft.ptx.registers import kills, reads, register_types, replace_registers, updates, writes
from weft.ptx.scopes import without_scopes
from weft.ptx.syntax import (
    Function,
    Instruction,
    Register,
    RegisterDeclaration,
    RegisterNames,
    Statement,
)

Access = tuple[int, str]
"""Number of an instruction, and a register."""


def renamed_webs(function: Function) -> Function:
    """The function without scopes, unreachable instructions and registers that mean several things.

    Parameters
    ----------
    function
        It has a body.

    Raises
    ------
    PtxError
        A label is missing, or the table does not have an instruction.
    """
    function = _without_unreachable(without_scopes(function))
    flow = flow_of(function)
    types = register_types(function)
    vectors = _vector_registers(function)
    kept = {name for name, type in types.items() if type == "pred"} | vectors
    kept |= {p.name for p in (*function.returns, *function.parameters) if p.space == "reg"}
    names, made = _names(flow, kept, set(types))
    if not made:
        return function
    body: list[Statement] = []
    number = 0
    for statement in function.body or ():
        if not isinstance(statement, Instruction):
            body.append(statement)
            continue
        body.append(_renamed(statement, number, names))
        number += 1
    declared: list[Statement] = [
        RegisterDeclaration(types[old], (RegisterNames(new),)) for new, old in made.items()
    ]
    return dataclasses.replace(function, body=declared + body)


def _renamed(instruction: Instruction, number: int, names: dict[tuple[int, str, bool], str]) -> Instruction:
    def by(written: bool):
        def replacement(register: Register) -> Register:
            new = names.get((number, register.name, written), register.name)
            return register if new == register.name else Register(new, register.component)

        return replacement

    return replace_registers(instruction, by(False), by(True))


def _without_unreachable(function: Function) -> Function:
    flow = flow_of(function)
    there = reachable(flow.cfg.succs)
    if all(there):
        return function
    body: list[Statement] = []
    for number in range(len(flow.blocks)):
        body += [s for s in flow.statements(number) if there[number] or not isinstance(s, Instruction)]
    return dataclasses.replace(function, body=body)


def _vector_registers(function: Function) -> set[str]:
    return {
        name
        for statement in function.body or ()
        if isinstance(statement, RegisterDeclaration) and statement.vector
        for name in statement.names()
    }


class _Sets:
    """Disjoint sets of definitions."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def find(self, item: int) -> int:
        while self._above[item] != item:
            self._above[item] = self._above[self._above[item]]
            item = self._above[item]
        return item

    def join(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        self._above[max(one, other)] = min(one, other)


def _names(
    flow: Flow, kept: set[str], taken: set[str]
) -> tuple[dict[tuple[int, str, bool], str], dict[str, str]]:
    """The name of each register in each instruction, as read and as written, and what the new names stand for."""
    rows = [flow.instructions(block) for block in range(len(flow.blocks))]
    definitions: list[Access] = []
    of_register: dict[str, int] = {}
    number = 0
    for row in rows:
        for instruction in row:
            for name in writes(instruction):
                if name not in kept:
                    of_register[name] = of_register.get(name, 0) | 1 << len(definitions)
                    definitions.append((number, name))
            number += 1
    arriving = _reaching(flow, rows, definitions, of_register)
    sets = _Sets(len(definitions))
    read_by: dict[Access, int] = {}
    at = {access: index for index, access in enumerate(definitions)}
    number = 0
    for row, before in zip(rows, arriving, strict=True):
        reach = before
        for instruction in row:
            for name in reads(instruction):
                found = reach & of_register.get(name, 0)
                if found:
                    _join_all(sets, found)
                    read_by[number, name] = _lowest(found)
            for name in updates(instruction):
                if (number, name) in read_by:
                    sets.join(read_by[number, name], at[number, name])
            reach = _behind(instruction, number, reach, at, of_register)
            number += 1
    return _chosen(definitions, sets, read_by, taken)


def _chosen(
    definitions: list[Access], sets: _Sets, read_by: dict[Access, int], taken: set[str]
) -> tuple[dict[tuple[int, str, bool], str], dict[str, str]]:
    name_of: dict[int, str] = {}
    seen: set[str] = set()
    made: dict[str, str] = {}
    for index, (_, name) in enumerate(definitions):
        root = sets.find(index)
        if root in name_of:
            continue
        new, count = name, 0
        while new in seen or (new != name and new in taken):
            count += 1
            new = f"{name}${count}"
        if new != name:
            made[new] = name
        seen.add(new)
        name_of[root] = new
    names = {
        (number, name, True): name_of[sets.find(index)] for index, (number, name) in enumerate(definitions)
    }
    names |= {(number, name, False): name_of[sets.find(i)] for (number, name), i in read_by.items()}
    return names, made


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _join_all(sets: _Sets, bits: int) -> None:
    first = _lowest(bits)
    bits &= bits - 1
    while bits:
        sets.join(first, _lowest(bits))
        bits &= bits - 1


def _behind(
    instruction: Instruction, number: int, reach: int, at: dict[Access, int], of_register: dict[str, int]
) -> int:
    for name in kills(instruction):
        reach &= ~of_register.get(name, 0)
    for name in writes(instruction):
        if (number, name) in at:
            reach |= 1 << at[number, name]
    return reach


def _reaching(
    flow: Flow, rows: list[list[Instruction]], definitions: list[Access], of_register: dict[str, int]
) -> list[int]:
    """The definitions that reach each block, as sets."""
    at = {access: index for index, access in enumerate(definitions)}
    gains: list[int] = []
    keeps: list[int] = []
    number = 0
    everything = (1 << len(definitions)) - 1
    for row in rows:
        gain, keep = 0, everything
        for instruction in row:
            for name in kills(instruction):
                keep &= ~of_register.get(name, 0)
            gain = _behind(instruction, number, gain, at, of_register)
            number += 1
        gains.append(gain)
        keeps.append(keep)
    arriving = [0] * len(rows)
    work = list(range(len(rows) - 1, -1, -1))
    while work:
        block = work.pop()
        behind = (arriving[block] & keeps[block]) | gains[block]
        for successor in flow.cfg.succs[block]:
            if behind & ~arriving[successor]:
                arriving[successor] |= behind
                work.append(successor)
    return arriving
