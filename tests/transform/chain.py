"""Takes functions through the passes of vectorization, and runs them on the interpreter before and after each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from generators.programs import INPUT_BYTES, SLICE_BYTES
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.interp import Memory, Program, run_function
from weft.ir import BasicBlock, Function, Instruction, Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.target.machine import TargetSpec
from weft.target.passes import PassList, optimize
from weft.transform.boscc.insertion import insert_boscc
from weft.transform.drop_unreachable import drop_unreachable_edges
from weft.transform.linearization.linearize import linearize
from weft.transform.linearization.unify_conditions import unify_conditions
from weft.transform.loops.divergent_loops import BranchDivergence, make_loops_uniform, uniform_branches

SIMPLE_LOOPS = PassList("simple-loops", ("sroa", "mergereturn", "loop-simplify", "lcssa"))
SSA = PassList(
    "ssa",
    ("sroa", "mergereturn", "simplifycfg", "instcombine", "mergereturn", "loop-simplify", "lcssa"),
)

Run = Callable[[Module, str], object]
"""Runs a module under "FR" or "OBL" and returns what can be seen of it, to be compared with ``==``."""


class EveryBranch:
    """All branches diverge, but for those on a horizontal result, and those of the blocks in `uniform`."""

    def __init__(self, uniform: Iterable[str] = ()) -> None:
        self.uniform = frozenset(uniform)

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        branch = block.terminator
        if len(set(branch.blocks)) < 2 or block.name in self.uniform:
            return False
        condition = branch.operands[0]
        return not (isinstance(condition, Instruction) and condition.callee_name in ("weft.any", "weft.all"))


def canonical(text: str, passes: PassList = SIMPLE_LOOPS) -> Module:
    """The module after LLVM's passes: simple loops in loop-closed form, one return."""
    module = read_module(optimize(text, passes, TargetSpec.chosen().machine))
    for function in module.definitions():
        drop_unreachable_edges(function)
    return module


def vectorization_stages(
    module: Module, function: Function, facts: Callable[[], BranchDivergence], gadgets: bool = False
) -> Iterable[str]:
    """Make the function control-uniform, with a gadget at each region if asked for; yields each pass behind it."""
    before = facts()
    uniform = uniform_branches(function, before)
    make_loops_uniform(module, function, before, functools.partial(_is_vector, before))
    yield "divergent loops"
    branches = facts()
    if gadgets:
        branches = insert_boscc(module, function, branches, uniform, None)
        yield "boscc"
    linearize(function, branches, uniform)
    yield "linearization"
    unify_conditions(module, function, facts())
    yield "conditions"


def _is_vector(facts: BranchDivergence, value: Value) -> bool:
    return not isinstance(facts, Divergence) or not facts.shape(value).is_strided


def check_chain(
    module: Module,
    name: str,
    run: Run,
    facts: Callable[[Function], BranchDivergence],
    gadgets: bool = False,
) -> None:
    """The program means the same before the passes (FR) and after each (FR and OBL), and stays valid."""
    function = module.functions[name]
    before = write_module(module)
    expected = run(module, "FR")
    for stage in vectorization_stages(module, function, lambda: facts(function), gadgets):
        text = write_module(module)
        try:
            verify(module)
            for semantics in ("FR", "OBL"):
                found = run(module, semantics)
                assert found == expected, f"{semantics}: {found}, expected {expected}"
        except Exception as error:
            raise AssertionError(f"{stage}: {error}\n{before}\n{text}") from error


def every_branch(function: Function) -> BranchDivergence:
    """Facts that know nothing: every branch diverges."""
    return EveryBranch()


def analysed(width: int) -> Callable[[Function], BranchDivergence]:
    """Facts of the divergence analysis; parameters named ``t`` or ``t.*`` differ from lane to lane."""
    from weft.analysis.shapes import domain_named

    def facts(function: Function) -> BranchDivergence:
        domain = domain_named("product", (width,))
        varying = {a: domain.varying(64) for a in function.args if a.name.split(".")[0] == "t"}
        return analyze_divergence(function, domain=domain, initial=varying, width=width)

    return facts


def returned(name: str, arguments: Sequence[object], width: int, active: np.ndarray | None = None) -> Run:
    """Runs a function of numbers; what is seen is what each active thread returns."""

    def run(module: Module, semantics: str) -> object:
        outcome = run_function(
            module, name, arguments, width, semantics=semantics, active=active, step_limit=100_000
        )
        assert outcome is not None
        data = np.broadcast_to(outcome.data, (width,))
        flags = None if outcome.flags is None else np.broadcast_to(outcome.flags, (width,))
        lanes = range(width) if active is None else np.flatnonzero(active).tolist()
        return [data[lane].item() if flags is None or not flags[lane] else "poison" for lane in lanes]

    return run


def written(width: int, seed: int) -> Run:
    """Runs a kernel of `generators.programs` on random input; what is seen is the memory it wrote."""

    def run(module: Module, semantics: str) -> object:
        rng = np.random.default_rng(seed)
        memory = Memory()
        given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
        out = np.zeros(width * SLICE_BYTES, np.uint8)
        arguments = [
            memory.map_array(given), memory.map_array(out), int(rng.integers(-5, 40)),
            int(rng.integers(0, 1 << 33)),
        ]  # fmt: skip
        run_function(
            Program(module), "kernel", arguments, width, semantics=semantics, memory=memory, step_limit=20_000
        )
        return out.tobytes()

    return run
