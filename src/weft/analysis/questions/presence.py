"""Which bytes each thread may read, whether or not the program has it do so.

A load that runs for threads that would not have done it must not fault. Its bytes are there if they lie in an object
of known size, by the ranges of what the address is computed from; or if an access of the same place comes before on
every way, and nothing is freed. In both cases the numbers in the address must not be poison, of which no range says
anything: they are not where the thread has branched on them, or has accessed memory by them, and where nothing can
make them so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.ranges import Ranges
from weft.analysis.questions.graph import QuestionGraph
from weft.analysis.questions.places import Place
from weft.analysis.questions.polynomials import Narrow
from weft.ir import Argument, BasicBlock, Constant, Function, GlobalVariable, Instruction, Value
from weft.ir.constants import ConstInt, Poison, Undef
from weft.ir.effects import may_write
from weft.ir.intrinsics import is_lane_operation, kind_of

_CERTAIN = frozenset(("and", "or", "xor", "add", "sub", "mul", "icmp", "sext", "zext", "trunc", "freeze"))
_LARGE = 1 << 48


@dataclass(slots=True)
class Presence:
    """Answers for one function.

    Parameters
    ----------
    function
        The function.
    graph
        Its accesses.
    ranges
        Ranges of its integers.
    """

    function: Function
    graph: QuestionGraph
    ranges: Ranges
    _frees: bool = field(init=False)

    def __post_init__(self) -> None:
        self._frees = any(may_free(i) for i in self.function.instructions())

    def is_there(self, place: Place, block: BasicBlock) -> bool:
        """Whether each thread at the end of the block can read the place."""
        if not all(self.graph.regions.dominates(value, block) for value in place.values):
            return False
        if self._was_accessed(place, block):
            return True
        size = object_size(place.base, self.function)
        if size is None or not all(self.is_certain(value, block) for value in place.values[1:]):
            return False
        extent = self._extent(place, block)
        bytes = self.graph.places.layout.store_size(place.type)
        return extent is not None and extent[0] >= 0 and extent[1] + bytes <= size

    def _extent(self, place: Place, block: BasicBlock) -> Interval | None:
        low = high = place.offset
        for monomial, coefficient in place.terms:
            ends = [coefficient]
            for value, signed in monomial:
                interval = None if isinstance(value, Narrow) else self.ranges.at(value, block)
                if interval is None or (not signed and interval[0] < 0):
                    return None
                ends = [a * b for a in ends for b in interval]
            low, high = low + min(ends), high + max(ends)
        return Interval(low, high) if low > -_LARGE and high < _LARGE else None

    def _was_accessed(self, place: Place, block: BasicBlock) -> bool:
        """Whether a block that is on every way here accesses the place; its address is the same since."""
        if self._frees or any(isinstance(v, (Poison, Undef)) for v in place.values):
            return False
        regions = self.graph.regions
        here = regions.view.index[block]
        while here >= 0:
            if any(touch.place == place for touch in self.graph.touches(regions.view.blocks[here])):
                return True
            here = regions.dominators.idom[here]
        return False

    def is_certain(self, value: Value, block: BasicBlock) -> bool:
        """Whether a number is not poison for a thread at the end of the block."""
        return self._is_certain(value, block, set(), False)

    def _is_certain(self, value: Value, block: BasicBlock, pending: set[Value], taken: bool) -> bool:
        """The same for a thread that has taken the block's branch, if `taken`; what is `pending` is found elsewhere."""
        if isinstance(value, (Poison, Undef)):
            return False
        if isinstance(value, Constant) or value in pending:
            return True
        if isinstance(value, Argument):
            return "noundef" in value.attributes
        if not isinstance(value, Instruction):
            return False
        if value.op == "freeze" or self._is_branched_on(value, block, taken):
            return True
        if value.is_phi:
            known = {*pending, value}
            return all(self._is_certain(v, source, known, True) for v, source in value.incoming())
        if value.op == "call":
            known = kind_of(value.callee_name) is not None and not is_lane_operation(value.callee_name)
            return known and all(self._is_certain(v, block, pending, taken) for v in value.args)
        if value.op not in _CERTAIN or value.flags:
            return False
        return all(self._is_certain(v, block, {*pending, value}, taken) for v in value.operands)

    def _is_branched_on(self, value: Instruction, block: BasicBlock, taken: bool) -> bool:
        """Whether a branch that each thread here has taken compares the number: poison would have been an error."""
        regions = self.graph.regions
        here = regions.view.index[block]
        for user in value.instruction_users():
            if user.op != "icmp":
                continue
            for branch in user.instruction_users():
                if branch.op != "br" or branch.block is None or (branch.block is block and not taken):
                    continue
                if regions.dominators.dominates(regions.view.index[branch.block], here):
                    return True
        return False


def may_free(instruction: Instruction) -> bool:
    """Whether memory may be gone behind it: it calls what nobody knows, or ends the life of a stack object."""
    if instruction.op != "call" or not may_write(instruction):
        return False
    name = instruction.callee_name or ""
    return kind_of(name) is None and not name.startswith(("llvm.mem", "llvm.assume", "llvm.lifetime.start"))


def object_size(base: Value, function: Function) -> int | None:
    """The bytes of the object at `base`, as long as the function runs; None where that is not known."""
    layout = function.layout
    if isinstance(base, GlobalVariable):
        return layout.size(base.value_type) if base.initializer is not None else None
    if isinstance(base, Argument):
        for text in base.attributes:
            if text.startswith("dereferenceable("):
                return int(text[len("dereferenceable(") : -1])
        return None
    if not isinstance(base, Instruction) or base.op != "alloca" or base.block is not function.entry:
        return None
    if any((user.callee_name or "").startswith("llvm.lifetime.") for user in base.instruction_users()):
        return None
    count = base.operands[0] if base.operands else None
    if count is not None and not isinstance(count, ConstInt):
        return None
    return layout.size(base.allocated_type) * (1 if count is None else count.value)
