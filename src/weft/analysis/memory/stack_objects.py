"""Stack objects: which pointers lead to them, and where their contents may differ between threads (Moll §6.6).

A *stack object* is private to a thread: what an alloca makes, or what a ``byval`` parameter points to. Each thread
has its own, at its own address, so pointers to stack objects are compared by site and offset, not by number: they
are alike in all threads when they lead to the same place of the object of the same site.

An object is *uniform* while all threads do the same to theirs. The contents are followed through *loop-closed alloca
SSA*: every store that may touch the object gives a new state, a block that states reach from different predecessors
joins them as a φ would, and so does an exit of a divergent loop. An object is varying as soon as

* something varying is stored to it, or at a varying offset, or for a part of the threads only;
* threads that come together in a block bring different states;
* threads leave a loop in different iterations in which it changes;
* it *escapes*: its address becomes a number or goes where it is not followed (memory, calls, atomics).

A difference of states does no harm where the object is *dead*, that is never read again, if besides only threads on
one side of the branch that parted them access it meanwhile: the others neither see nor spoil it. That makes the
stack of a tree traversal uniform (Moll, Fig. 13.2), which threads leave one by one and never look at again, and so it
makes whatever stands behind ``if (i >= n) return;``. For the same reason a store under a block predicate is as good as
one by all threads if every read of the object is under that predicate, too.

One varying state makes an object varying for good. So a uniform object can be one object that all threads share: no
thread ever reads from it what another one stored and it did not.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.graph.cfg import reachable
from weft.graph.dominators import DominatorTree, dominance_frontier, dominator_tree
from weft.ir import Argument, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.intrinsics import kind_of

Site = Instruction | Argument
"""An alloca, or a byval argument."""

_FORWARDING = {"getelementptr", "phi", "select", "bitcast", "addrspacecast", "freeze"}
_FORWARDING_CALLS = ("llvm.ptrmask.", "llvm.launder.invariant.group.", "llvm.strip.invariant.group.")
_HARMLESS_CALLS = ("llvm.lifetime.", "llvm.invariant.", "llvm.assume", "llvm.dbg.")
_WRITING_CALLS = ("llvm.memset.", "llvm.memcpy.", "llvm.memmove.")

NO_SITES: frozenset[Site] = frozenset()


def is_block_write(call: Instruction) -> bool:
    """Whether the call is a memset, memcpy or memmove, whose effect on objects is followed."""
    return (call.callee_name or "").startswith(_WRITING_CALLS)


def forwards_pointer(instruction: Instruction) -> bool:
    """Whether the result leads to the same object as an operand."""
    if instruction.op == "call":
        return (instruction.callee_name or "").startswith(_FORWARDING_CALLS)
    return instruction.op in _FORWARDING


class StackObjects:
    """The stack objects of a function, the pointers to them, and who reads and writes them.

    Attributes
    ----------
    sites
        All stack objects.
    escaped
        Those whose address goes where it is not followed.
    accesses
        Per site the instructions that may read, write or compare its address, in no particular order.
    """

    __slots__ = (
        "_dominators", "_frontier", "_pointers", "_read_later", "_states", "_view", "accesses", "escaped", "sites",
    )  # fmt: skip

    def __init__(self, function: Function, view: CFGView) -> None:
        self._view = view
        self._dominators: DominatorTree | None = None
        self._frontier: list[list[int]] = []
        self._states: dict[Site, tuple[list[int], set[int]]] = {}
        self._read_later: dict[Site, bytearray] = {}
        self._pointers: dict[Value, frozenset[Site]] = {}
        self.accesses: dict[Site, list[Instruction]] = {}
        self.escaped: set[Site] = set()
        self.sites: tuple[Site, ...] = (
            *(a for a in function.args if any(t.startswith("byval") for t in a.attributes)),
            *(i for i in function.instructions() if i.op == "alloca"),
        )
        if self.sites:
            self._follow()

    def of(self, pointer: Value) -> frozenset[Site]:
        """The stack objects that a value may lead to, itself being computed from their addresses."""
        return self._pointers.get(pointer, NO_SITES)

    def _follow(self) -> None:
        """Propagate sites from definitions to uses."""
        work: list[Value] = []
        for site in self.sites:
            self.accesses[site] = []
            self._pointers[site] = frozenset((site,))
            work.append(site)
        users: dict[Instruction, None] = {}
        while work:
            pointer = work.pop()
            sites = self._pointers[pointer]
            for user in pointer.instruction_users():
                users[user] = None
                if forwards_pointer(user):
                    known = self._pointers.get(user, NO_SITES)
                    if not sites <= known:
                        self._pointers[user] = known | sites
                        work.append(user)
        for user in users:
            self._note_use(user)

    def _note_use(self, user: Instruction) -> None:
        if user.op == "load" and not user.is_ordered:
            self._note_access(user, user.pointer)
        elif user.op == "store" and not user.is_ordered:
            self._note_access(user, user.pointer)
            self.escaped |= self.of(user.stored_value)
        elif user.op == "call" and is_block_write(user):
            for argument in user.args:
                self._note_access(user, argument)
        elif user.op == "call":
            name = user.callee_name or ""
            if not name.startswith(_HARMLESS_CALLS) and not forwards_pointer(user) and kind_of(name) is None:
                self._escape(user.operands)
        elif user.op == "icmp":
            for operand in user.operands:
                self._note_access(user, operand)
        elif not forwards_pointer(user):
            self._escape(user.operands)

    def _note_access(self, user: Instruction, pointer: Value) -> None:
        for site in self.of(pointer):
            if user not in self.accesses[site]:
                self.accesses[site].append(user)

    def _escape(self, operands: Iterable[Value]) -> None:
        for operand in operands:
            self.escaped |= self.of(operand)

    def writers(self, site: Site) -> list[Instruction]:
        """Stores and block writes that may change the object."""
        return [
            user
            for user in self.accesses[site]
            if user.op == "store" or (user.op == "call" and site in self.of(user.args[0]))
        ]

    def readers(self, site: Site) -> list[Instruction]:
        """Loads and block copies that may read the object."""
        return [
            user
            for user in self.accesses[site]
            if user.op == "load" or (user.op == "call" and any(site in self.of(a) for a in user.args[1:]))
        ]

    def may_be_read_in_or_after(self, site: Site, block: int) -> bool:
        """Whether a read of the object is reachable from the beginning of a block."""
        known = self._read_later.get(site)
        if known is None:
            reading = [self._view.index[r.block] for r in self.readers(site) if r.block is not None]
            known = self._read_later[site] = reachable(self._view.cfg.preds, reading)
        return bool(known[block])

    def accessing_blocks(self, site: Site) -> set[int]:
        """The blocks with an access to the object."""
        return {self._view.index[user.block] for user in self.accesses[site] if user.block is not None}

    def state_behind(self, site: Site, block: int) -> int:
        """The alloca SSA state of the object at the end of a block, by a number that tells states apart."""
        return self._alloca_ssa(site)[0][block]

    def defining_blocks(self, site: Site) -> set[int]:
        """The blocks in which the object changes or is made."""
        return self._alloca_ssa(site)[1]

    def _alloca_ssa(self, site: Site) -> tuple[list[int], set[int]]:
        """States at the ends of blocks: ``2b`` for a change in block b, ``2b + 1`` for a join there."""
        known = self._states.get(site)
        if known is not None:
            return known
        index = self._view.index
        if self._dominators is None:
            self._dominators = dominator_tree(self._view.cfg)
            self._frontier = dominance_frontier(self._dominators, self._view.cfg.preds)
        changing: set[int] = {0} if isinstance(site, Argument) else set()
        for instruction in (*self.writers(site), *((site,) if isinstance(site, Instruction) else ())):
            assert instruction.block is not None
            changing.add(index[instruction.block])
        joins: set[int] = set()
        work = list(changing)
        while work:
            for block in self._frontier[work.pop()]:
                if block not in joins:
                    joins.add(block)
                    work.append(block)
        states = [-1] * len(self._view.cfg)
        for block in self._dominators.region(0):
            if block in changing:
                states[block] = 2 * block
            elif block in joins:
                states[block] = 2 * block + 1
            elif block:
                states[block] = states[self._dominators.idom[block]]
        known = self._states[site] = (states, changing)
        return known
