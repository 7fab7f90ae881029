"""Gated SSA (Ottenstein, Ballance, MacCabe, PLDI 1990; Tu and Padua, PLDI 1995; Sampaio et al. §3.2) as an overlay.

The function stays in SSA form. `GatedSSA` says of each φ which gating function it is,

* ``γ(p, x, y)``: the value that the decision p chose; decisions may be nested, and an outcome may be ∅;
* ``μ(x, y)``, at the header of a loop: x in the first iteration, y in all others, each of them a γ if several edges
  enter the loop or go back;

and of each use behind a loop which ``η(p, x)`` stands there: the value of x in the last iteration of the thread,
which p ends. Where the use lies behind several loops, η is nested. A loop with several exits has an η for each set of
exits that lead to a use, since some exits may be divergent where others are not.

In an irreducible loop the loop itself decides over all φs, and over what leaves it: any of its branches may. Gates tell
how values depend on decisions and so turn control dependence into data dependence: see `weft.analysis.gated.sparse`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.gated.gates import NEVER, Edge, Gate
from weft.analysis.gated.gating import Gating
from weft.graph.loops import Loop
from weft.ir import Function, Instruction, Poison, Value
from weft.ir.cfg_view import CFGView, cfg_of


class Gamma(Struct, frozen=True):
    """A φ that joins paths; outcomes of `gate` are values (`Use`)."""

    gate: Gate


class Mu(Struct, frozen=True):
    """A φ of a loop header: the gates of the first value, and of that of all further iterations."""

    initial: Gate
    carried: Gate


Phi = Gamma | Mu


class Eta(Struct, frozen=True, eq=False):
    """`value` as it is seen behind `loop` by threads that left it over `exits`.

    `gate` decides in each iteration between leaving over one of `exits` and going on; `block` is where the value is
    first used.
    """

    value: Use
    loop: Loop
    exits: tuple[Edge, ...]
    gate: Gate
    block: int


Use = Value | Eta
"""What an instruction finds as an operand."""


class GatedSSA:
    """The gating functions of a function.

    Attributes
    ----------
    function, view, gating
        The function, its graph, and the decisions in that.
    phis
        What each φ of a reached block is.
    etas
        Every η, in the order of the uses.
    """

    __slots__ = ("_etas", "_seen", "etas", "function", "gating", "phis", "view")

    def __init__(self, function: Function, view: CFGView | None = None) -> None:
        self.function = function
        self.view = view or cfg_of(function)
        self.gating = Gating(self.view.cfg)
        self.phis: dict[Instruction, Phi] = {}
        self.etas: list[Eta] = []
        self._etas: dict[tuple[Use, Loop, tuple[Edge, ...]], Eta] = {}
        self._seen: dict[tuple[Instruction, int], Use] = {}
        for number in self.gating.index.order:
            for instruction in self.view.blocks[number].instructions:
                if instruction.op == "phi":
                    self._find_incoming(instruction)
                else:
                    self._find_operands(instruction, number)
        for number in self.gating.index.order:
            self._gate_phis(number)

    def use(self, user: Instruction, operand: int) -> Use:
        """What `user` sees as its operand number `operand` (`Instruction.used_values` numbers shadow and guard on)."""
        seen = self._seen.get((user, operand))
        return list(user.used_values())[operand] if seen is None else seen

    def uses(self, user: Instruction) -> Iterator[Use]:
        """What `user` sees of all values that it uses."""
        for i, value in enumerate(user.used_values()):
            yield self._seen.get((user, i), value)

    def conditions(self, gate: Gate) -> list[Use]:
        """The values on which the choice between the outcomes of `gate` depends."""
        blocks = (self.view.blocks[block] for block in self.gating.decisions(gate))
        return list(dict.fromkeys(use for block in blocks for use in self.uses(block.terminator)))

    def _find_operands(self, user: Instruction, block: int) -> None:
        for i, value in enumerate(user.used_values()):
            if isinstance(value, Instruction):
                self._note(user, i, value, self._behind_loops(value, block, None))

    def _find_incoming(self, phi: Instruction) -> None:
        assert phi.block is not None
        index = self.view.index
        block = index[phi.block]
        for i, (value, source) in enumerate(phi.incoming()):
            if isinstance(value, Instruction) and self.gating.index.number[index[source]] >= 0:
                self._note(phi, i, value, self._behind_loops(value, index[source], block))
        if isinstance(phi.shadow, Instruction):
            shadow = self._behind_loops(phi.shadow, block, None)
            self._note(phi, len(phi.operands), phi.shadow, shadow)

    def _note(self, user: Instruction, operand: int, value: Instruction, seen: Use) -> None:
        if seen is not value:
            self._seen[user, operand] = seen

    def _behind_loops(self, value: Instruction, block: int, target: int | None) -> Use:
        """`value` as seen in `block`, or on the edge from there to `target`: with an η for each loop left before."""
        assert value.block is not None
        loop = self.gating.loops.innermost[self.view.index[value.block]]
        seen: Use = value
        while loop is not None:
            if block not in loop.blocks:
                seen = self._eta(seen, loop, self.gating.exits_to(loop, block), block)
            elif target is not None and target not in loop.blocks:
                seen = self._eta(seen, loop, ((block, target),), target)
            else:
                break
            loop = loop.parent
        return seen

    def _eta(self, value: Use, loop: Loop, exits: tuple[Edge, ...], block: int) -> Eta:
        key = (value, loop, exits)
        eta = self._etas.get(key)
        if eta is None:
            eta = self._etas[key] = Eta(value, loop, exits, self.gating.leaving(loop, exits), block)
            self.etas.append(eta)
        return eta

    def _gate_phis(self, number: int) -> None:
        phis = list(self.view.blocks[number].phis())
        if not phis:
            return
        loop = self.gating.loops.headed_by[number]
        arriving = self.gating.arriving(number)
        iterates = loop is not None and self.gating.irreducible_around(loop) is None
        carried = self.gating.going_on(loop) if loop is not None and iterates else None
        for phi in phis:
            gate = self._with_values(arriving, phi)
            if carried is None:
                self.phis[phi] = Gamma(gate)
            else:
                self.phis[phi] = Mu(gate, self._with_values(carried, phi))

    def _with_values(self, gate: Gate, phi: Instruction) -> Gate:
        """The gate of a block's edges as one of the values that a φ takes on them; poison may be any of these."""
        table = self.gating.table
        taken: dict[object, Gate] = {}
        index = self.view.index
        assert phi.block is not None
        target = index[phi.block]
        for i, (value, source) in enumerate(phi.incoming()):
            if isinstance(value, Poison):
                taken[index[source], target] = NEVER
            else:
                taken[index[source], target] = table.leaf(self._seen.get((phi, i), value))
        return table.replace(gate, lambda edge: taken[edge])
