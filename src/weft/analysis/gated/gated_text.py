"""Printed form of gated SSA, as Fig. 9 of Sampaio et al.: gating functions for φs, η where values leave loops."""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.gated.gated_ssa import Eta, GatedSSA, Mu, Phi, Use
from weft.analysis.gated.gates import NEVER, Gamma, Gate, Leaf, parts
from weft.analysis.gated.gating import LEAVE
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.writer.function import FunctionWriter
from weft.ir.writer.names import local_names, unused_name
from weft.ir.writer.values import ValueWriter


def gated_text(gated: GatedSSA) -> str:
    """The whole function: blocks in its own order, those that are never reached left out.

    Decisions with two ways read ``γ(p, then, else)``, others ``γ(x; %block: outcome, ...)``, and the choice of a
    loop's exit ``γ(%header; %from-%to: outcome, ...)``. What several outcomes share is written once, behind
    ``where``. An η stands in the block in which it is first used.
    """
    return _Text(gated).write()


class _Text:
    def __init__(self, gated: GatedSSA) -> None:
        self.gated = gated
        self.values = ValueWriter()
        self.names = local_names(gated.function)
        self.writer = FunctionWriter(self.values)
        taken = {name[1:] for name in self.names.values()}
        self.etas: dict[Eta, str] = {}
        for eta in gated.etas:
            name = f"{self.names[_root(eta)][1:]}.out"
            if name in taken:
                name = unused_name(name, taken)
            taken.add(name)
            self.etas[eta] = f"%{name}"

    def write(self) -> str:
        gated, view = self.gated, self.gated.view
        order = gated.gating.index.number
        behind: dict[int, list[Eta]] = {}
        for eta in gated.etas:
            behind.setdefault(eta.block, []).append(eta)
        lines: list[str] = []
        for number, block in enumerate(view.blocks):
            if order[number] < 0:
                continue
            lines.append(f"{self.names[block][1:]}:")
            lines += [f"  {self.etas[eta]} = {self.eta(eta)}" for eta in behind.get(number, ())]
            lines += [f"  {self.instruction(instruction)}" for instruction in block.instructions]
        return "\n".join(lines) + "\n"

    def instruction(self, instruction: Instruction) -> str:
        phi = self.gated.phis.get(instruction)
        if phi is not None:
            return f"{self.names[instruction]} = {self.phi(phi)}"
        locals = dict(self.names)
        for value, use in zip(instruction.used_values(), self.gated.uses(instruction), strict=True):
            if isinstance(use, Eta):
                locals[value] = self.etas[use]
        self.values.locals = locals
        return self.writer.instruction(instruction)

    def phi(self, phi: Phi) -> str:
        if isinstance(phi, Mu):
            (initial, carried), shared = self.gates(phi.initial, phi.carried)
            return f"μ({initial}, {carried}){shared}"
        (text,), shared = self.gates(phi.gate)
        return (text if isinstance(phi.gate, Gamma) else f"γ({text})") + shared

    def eta(self, eta: Eta) -> str:
        value = self.use(eta.value)
        gate = eta.gate
        if isinstance(gate, Gamma) and isinstance(gate.decision, int):
            ends = {arm.outcome for _, arm in gate.arms if isinstance(arm, Leaf)}
            if ends == {LEAVE, eta.loop} and len(gate.arms) == 2:
                return f"η({self.decision(gate.decision)}, {value})"
        (text,), shared = self.gates(gate)
        return f"η({text}, {value}){shared}"

    def use(self, use: object) -> str:
        if use == LEAVE:
            return LEAVE
        if isinstance(use, Loop):
            return "stay"
        if isinstance(use, Eta):
            return self.etas[use]
        assert isinstance(use, Value)
        self.values.locals = self.names
        return self.values.value(use)

    def decision(self, block: int) -> str:
        """What the terminator of a block decides by."""
        terminator = self.gated.view.blocks[block].terminator
        return ", ".join(self.use(use) for use in self.gated.uses(terminator))

    def gates(self, *gates: Gate) -> tuple[list[str], str]:
        """The texts of gates, and what they share."""
        uses: dict[Gate, int] = {}
        for gate in gates:
            for part in parts(gate):
                if isinstance(part, Gamma):
                    for _, arm in part.arms:
                        uses[arm] = uses.get(arm, 0) + 1
        texts: dict[Gate, str] = {}
        shared: list[str] = []
        for part in (part for gate in gates for part in parts(gate, texts)):
            text = self.part(part, texts)
            if isinstance(part, Gamma) and uses.get(part, 0) > 1:
                shared.append(f"g{len(shared) + 1} = {text}")
                text = f"g{len(shared)}"
            texts[part] = text
        return [texts[gate] for gate in gates], f" where {', '.join(shared)}" if shared else ""

    def part(self, part: Gate, texts: Mapping[Gate, str]) -> str:
        if part is NEVER:
            return "∅"
        if isinstance(part, Leaf):
            return self.use(part.outcome)
        blocks = self.gated.view.blocks
        name = self.names
        if isinstance(part.decision, Loop):
            arms = [f"{name[blocks[s]]}-{name[blocks[t]]}: {texts[arm]}" for (s, t), arm in part.arms]
            return f"γ({name[blocks[part.decision.header]]}; {', '.join(arms)})"
        if len(part.arms) == 2 and len(blocks[part.decision].terminator.blocks) == 2:
            return f"γ({self.decision(part.decision)}, {', '.join(texts[arm] for _, arm in part.arms)})"
        arms = [f"{name[blocks[t]]}: {texts[arm]}" for (_, t), arm in part.arms]
        return f"γ({self.decision(part.decision)}; {', '.join(arms)})"


def _root(eta: Eta) -> Value:
    use: Use = eta
    while isinstance(use, Eta):
        use = use.value
    return use
