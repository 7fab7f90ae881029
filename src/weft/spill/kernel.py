"""Allocating the registers of one kernel: decide, place, write.

Which values are spilled is decided by an allocator that knows nothing of divergence; where they go, by a policy. Spill
code may need words itself (an id, an address), so both take turns until nothing more has to be spilled. The decisions
are the same for all policies but for these words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.diag.errors import PtxError, SettingError
from weft.diag.remarks import Remark, RemarkKind
from weft.machine.gpus import GpuArchitecture, Occupancy, architecture, occupancy
from weft.ptx.flow import flow_of
from weft.ptx.regalloc.allocation import (
    NO_DEMAND,
    Allocation,
    Demand,
    Problem,
    scratch_words,
    unreachable_budget,
    unspillable,
)
from weft.ptx.regalloc.chordal import chordal
from weft.ptx.regalloc.intervals import pressure_of
from weft.ptx.regalloc.linear_scan import NEXT, linear_scan
from weft.ptx.regalloc.liveness import Liveness, liveness_of
from weft.ptx.regalloc.places import (
    Affine,
    Constant,
    LocalSlot,
    Names,
    Place,
    ThreadSlot,
    WarpBase,
    WarpSlot,
)
from weft.ptx.regalloc.reuse import everywhere, reused
from weft.ptx.regalloc.rewrite import Inserted, SpillCode, rewrite, unused_name
from weft.ptx.regalloc.sizes import register_words
from weft.ptx.regalloc.webs import renamed_webs
from weft.ptx.registers import reads, register_types, writes
from weft.ptx.syntax import (
    Address,
    Directive,
    Element,
    Float,
    Function,
    Instruction,
    Integer,
    Module,
    PointerTo,
    Symbol,
    Variable,
)
from weft.ptx.types import bits_of
from weft.spill.convergence import Convergence, Sharing, convergence_of, writers_of
from weft.spill.facts import KernelFacts, facts_of
from weft.spill.layout import SharedLayout, offsets, setup
from weft.spill.policies import Choice, Policy, Row, Value, choose

_PREFIXES = {8: "%b", 16: "%h", 32: "%r", 64: "%rd", 128: "%q"}
_VOLATILE_LOCAL = (9, 1)
_MOST_THREADS = 1024
_STATIC_SHARED = 48 << 10
"""Bytes of static shared memory that a block may have on any architecture."""
_LATER = ("wgmma", "tcgen05")
"""Instructions that read and write registers after they were issued: nobody else may touch these."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How registers are allocated.

    Parameters
    ----------
    registers
        32-bit registers of a thread, without predicates.
    policy
        Where spilled values go.
    arch
        The architecture; by default that of ``.target``.
    block
        The size of work-groups, exactly; the kernel then gets ``.reqntid``. By default what the kernel says, else
        any size.
    allocator
        ``"linear"`` or ``"chordal"``.
    reuse
        Whether a value that is still in a register is not reloaded. Without, every read of a spilled value reloads it,
        and every write stores it.
    count_bases
        Whether what spill code needs counts as registers of the budget: base addresses of slots, ids. If not, it comes
        on top, as in the paper, where linear scan has nine registers if the others have eight.
    farthest
        For linear scan: which use makes a value the one to spill, the ``"last"`` or the ``"next"``.
    degree
        Of the polynomials that values are described by.
    dynamic_shared
        Bytes of dynamic shared memory that launches have, for occupancy.
    """

    registers: int
    policy: Policy = Policy.AUTO
    arch: str | None = None
    block: tuple[int, int, int] | None = None
    allocator: str = "linear"
    reuse: bool = True
    count_bases: bool = True
    farthest: str = NEXT
    degree: int = 1
    dynamic_shared: int = 0


@dataclass(slots=True)
class Kernel:
    """A kernel with what all policies need to know of it; made once for several budgets.

    Attributes
    ----------
    module, source
        Where it is, and the kernel as it was written.
    function
        With webs for registers.
    arch, block, threads
        The architecture; the exact size of work-groups, where known; threads of a work-group at most.
    """

    module: Module
    source: Function
    function: Function
    arch: GpuArchitecture
    block: tuple[int, int, int] | None
    threads: int
    liveness: Liveness
    words: dict[str, int]
    types: dict[str, str]
    writers: dict[str, list[int]]
    fixed: frozenset[str]
    facts: KernelFacts
    convergence: Convergence
    values: dict[str, Value]
    static_shared: int

    @classmethod
    def of(
        cls,
        module: Module,
        name: str,
        *,
        arch: str | None = None,
        block: tuple[int, int, int] | None = None,
        degree: int = 1,
    ) -> Kernel:
        """Analyse a kernel.

        Parameters
        ----------
        module, name
            A checked module, and the kernel in it.
        arch, block, degree
            As `Settings` has them.

        Raises
        ------
        PtxError
            There is no such kernel.
        """
        source = next((f for f in module.entries() if f.name == name), None)
        if source is None:
            names = ", ".join(f.name for f in module.entries())
            raise PtxError(f"there is no kernel {name}", hint=f"there are {names}")
        function = renamed_webs(source)
        flow = flow_of(function)
        exact, threads = _sizes(source, block)
        facts = facts_of(module, function, degree=degree, block=exact)
        instructions = list(function.instructions())

        def parts(number: int) -> bool:
            i = instructions[number]
            if i.guard is not None and facts.parts(number, i.guard.register.name):
                return True
            return i.opcode == "brx" and any(facts.parts(number, r) for r in _index_of(i))

        machine = architecture(arch or module.target[0])
        convergence = convergence_of(flow, parts, machine.capability)
        writers = writers_of(flow)
        types = register_types(function)
        fixed = unspillable(function) | _self_guarded(instructions) | _touched_later(instructions)
        made = cls(
            module, source, function, machine, exact, threads, liveness_of(flow), register_words(function), types,
            writers, fixed, facts, convergence, {}, static_shared_of(module, function),
        )  # fmt: skip
        states = facts.by_register()
        for register, words in made.words.items():
            if words and register in writers:
                sharing = convergence.sharing(
                    writers[register],
                    lambda n: instructions[n].guard is not None and parts(n),
                )
                literal = _literal([instructions[n] for n in writers[register]], bits_of(types[register]))
                bits = bits_of(types[register])
                made.values[register] = Value(register, bits, states.get(register), literal, sharing)
        return made

    @property
    def pressure(self) -> int:
        """Registers of 32 bits that are needed without spilling."""
        return pressure_of(self.liveness, self.words).words


def _index_of(i: Instruction) -> list[str]:
    return list(reads(i))


def _self_guarded(instructions: list[Instruction]) -> frozenset[str]:
    """Registers that are written under a guard which the same instruction writes: it is gone when they are stored."""
    found: set[str] = set()
    for i in instructions:
        if i.guard is not None and i.guard.register.name in writes(i):
            found.update(writes(i))
    return frozenset(found)


def _touched_later(instructions: list[Instruction]) -> frozenset[str]:
    """Registers of instructions that go on behind the next one."""
    found: set[str] = set()
    for i in instructions:
        if i.opcode in _LATER:
            found.update((*reads(i), *writes(i)))
    return frozenset(found)


def _sizes(function: Function, block: tuple[int, int, int] | None) -> tuple[tuple[int, int, int] | None, int]:
    """The exact size of work-groups, where it is known, and how many threads there are at most."""
    if block is None and (required := function.directive("reqntid")) is not None:
        x, y, z = [*(int(v) for v in required.values), 1, 1][:3]
        block = (x, y, z)
    if block is not None:
        return block, block[0] * block[1] * block[2]
    most = function.directive("maxntid")
    threads = _MOST_THREADS
    if most is not None:
        threads = 1
        for value in most.values:
            threads *= int(value)
    return None, min(threads, _MOST_THREADS)


def static_shared_of(module: Module, function: Function) -> int:
    """Bytes of shared memory that a kernel has for certain: variables of its own, and those of the module it names."""
    named = {operand for i in function.instructions() for operand in _symbols(i)}
    sizes = [
        _bytes(v)
        for v in (*module.variables(), *(s for s in function.body or () if isinstance(s, Variable)))
        if v.space.startswith("shared") and (v.name in named or v not in module.body)
    ]
    return sum(-(-size // 16) * 16 for size in sizes)


def _symbols(i: Instruction) -> Iterator[str]:
    for operand in i.operands:
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol | Element):
            yield base.name


def _bytes(variable: Variable) -> int:
    size = bits_of(variable.type) // 8 * max(variable.vector, 1)
    for extent in variable.extents:
        size *= extent or 0
    return size


def _literal(instructions: list[Instruction], bits: int) -> int | None:
    """The constant that all of these move, by its bits."""
    found: set[int] = set()
    for i in instructions:
        if i.opcode != "mov" or i.guard is not None or len(i.operands) != 2:
            return None
        source = i.operands[1]
        if not isinstance(source, Integer | Float):
            return None
        if isinstance(source, Integer) and any(m.startswith("f") for m in i.modifiers):
            return None
        found.add(source.bits(bits))
    return found.pop() if len(found) == 1 and bits <= 64 else None


@dataclass(slots=True)
class Spilled:
    """A kernel whose registers are allocated.

    Attributes
    ----------
    kernel, settings
        What was allocated how.
    function
        The result.
    choices, places
        For each spilled value.
    inserted
        Instructions that were inserted.
    pressure
        Registers of 32 bits that the result needs, counted again from its text.
    shared, local
        Bytes that were added: of shared memory for a block, of local memory for a thread.
    before, after
        Occupancy with all spilled values in local memory, and with the result.
    remarks
        Decisions a user may ask about.
    policy
        The one that was followed: for ``auto``, the one it chose.
    """

    kernel: Kernel
    settings: Settings
    function: Function
    policy: Policy
    choices: dict[str, Choice]
    places: dict[str, Place]
    inserted: list[Inserted]
    pressure: int
    shared: int
    local: int
    before: Occupancy
    after: Occupancy
    remarks: list[Remark] = field(default_factory=list)


def allocate(kernel: Kernel, settings: Settings) -> Spilled:
    """Allocate the registers of a kernel under one policy (not ``auto``).

    Raises
    ------
    PtxError
        An instruction needs more registers than there are, with its place.
    SettingError
        Shared memory does not suffice for what the kernel has already.
    """
    if settings.registers < 1:
        raise SettingError(f"{settings.registers} registers are too few", hint="allow some")
    return _Driver(kernel, settings).run()


@dataclass(slots=True)
class _Driver:
    kernel: Kernel
    settings: Settings
    demoted: set[str] = field(default_factory=set)
    remarks: list[Remark] = field(default_factory=list)
    plain: bool = False
    """Whether there is no register for what spill code needs itself: only places without such needs are used."""

    def run(self) -> Spilled:
        before = self.occupancy(0)
        while True:
            try:
                spilled = self.settled()
            except PtxError:
                if self.plain or self.settings.policy is Policy.LOCAL:
                    raise
                self.plain = True
                self.remarks.append(
                    Remark(
                        RemarkKind.MISSED,
                        f"{self.settings.registers} registers leave none for addresses of slots in shared memory"
                        " and for ids",
                        self.kernel.module.span(self.kernel.source),
                        hint="allow one or two registers more",
                    )
                )
                continue
            over = self.over_occupancy(spilled, before)
            if over is None:
                return spilled
            self.demoted.add(over)

    def occupancy(self, shared: int) -> Occupancy:
        kernel, settings = self.kernel, self.settings
        return occupancy(
            kernel.arch,
            kernel.threads,
            settings.registers,
            kernel.static_shared + settings.dynamic_shared + shared,
        )

    def over_occupancy(self, spilled: Spilled, before: Occupancy) -> str | None:
        """The value that has to leave shared memory first, where slots cost resident warps or are too many."""
        too_many = self.kernel.static_shared + spilled.shared > max(_STATIC_SHARED, self.kernel.static_shared)
        if spilled.after.blocks >= before.blocks and not too_many:
            return None
        weights = self.weights()
        shared = [n for n, p in spilled.places.items() if isinstance(p, WarpSlot | WarpBase | ThreadSlot)]
        bytes_of = {
            n: 32 * self.kernel.words[n]
            if isinstance(spilled.places[n], ThreadSlot)
            else self.kernel.words[n]
            for n in shared
        }
        worst = min(shared, key=lambda n: (weights.get(n, 0) / bytes_of[n], n), default=None)
        if worst is not None and not self.demoted:
            self.remarks.append(
                Remark(
                    RemarkKind.MISSED,
                    f"slots in shared memory would leave {spilled.after.warps} of {before.warps} warps resident;"
                    " what is accessed least stays in local memory",
                    self.kernel.module.span(self.kernel.source),
                )
            )
        return worst

    def weights(self) -> dict[str, float]:
        from weft.spill.costs import access_weights

        return access_weights(self.kernel)

    def settled(self) -> Spilled:
        """Let decisions and demands of spill code take turns until they agree."""
        kernel, settings = self.kernel, self.settings
        names: frozenset[str] = frozenset()
        bases = (False, False)
        while True:
            choices = {n: self.choice(n) for n in sorted(names)}
            # Once a base is there it stays, so that this ends.
            wanted = self.bases(choices)
            bases = (bases[0] or wanted[0], bases[1] or wanted[1])
            budget = settings.registers - (sum(bases) if settings.count_bases else 0)
            demands = {n: self.draft(n, c).demand(kernel.values[n].bits) for n, c in choices.items()}
            counted = demands if settings.count_bases else dict.fromkeys(demands, NO_DEMAND)
            problem = Problem(kernel.liveness, kernel.words, budget, counted, kernel.fixed)
            allocation = self.allocated(problem)
            if not settings.count_bases:
                _scratch_on_top(allocation, budget, demands)
            if allocation.spilled == names:
                return self.written(problem, allocation, choices, bases)
            names = names | allocation.spilled

    def allocated(self, problem: Problem) -> Allocation:
        try:
            if problem.budget < 1:
                first = next(iter(self.kernel.function.instructions()))
                raise unreachable_budget(problem.budget, first, 1)
            if self.settings.allocator == "chordal" and not self.needs_linear():
                return chordal(problem)
            return linear_scan(problem, self.settings.farthest)
        except PtxError as error:
            instruction = error.__dict__.pop("instruction", None)
            if instruction is not None:
                error.at(self.kernel.module.span(instruction))
            raise

    def needs_linear(self) -> bool:
        instructions = self.kernel.function.instructions()
        return any(i.opcode == "brx" or i.opcode in _LATER for i in instructions) or any(
            words > 2 for words in self.kernel.words.values()
        )

    def choice(self, name: str) -> Choice:
        value = self.kernel.values[name]
        if name in self.demoted:
            plain = choose(value, Policy.LOCAL)
            return dataclasses.replace(plain, why="would cost resident warps in shared memory")
        policy = self.settings.policy
        chosen = choose(value, Policy.AFFINE if policy is Policy.HYBRID else policy)
        if self.plain and chosen.row is not Row.OTHER:
            needs = self.draft(name, chosen).demand(value.bits)
            if chosen.row in (Row.UNIFORM, Row.AFFINE_BASE) or needs != NO_DEMAND:
                plain = choose(value, Policy.LOCAL)
                return dataclasses.replace(plain, why="no register is left for what other places need")
        return chosen

    def per_thread(self, name: str, choice: Choice) -> bool:
        return (
            self.settings.policy is Policy.HYBRID
            and choice.row is Row.OTHER
            and not self.plain
            and name not in self.demoted
            and self.kernel.values[name].bits in (16, 32, 64)
        )

    def bases(self, choices: Mapping[str, Choice]) -> tuple[bool, bool]:
        """Whether base addresses of the warp's and of the thread's slots are needed."""
        warp = any(c.row in (Row.UNIFORM, Row.AFFINE_BASE) for c in choices.values())
        thread = any(self.per_thread(n, c) for n, c in choices.items())
        return (warp and self.kernel.threads > 32, thread)

    def draft(self, name: str, choice: Choice) -> Place:
        """The place of a value, its offset left open."""
        match choice.row:
            case Row.CONSTANT:
                return Constant(choice.constant)
            case Row.AFFINE:
                return Affine(choice.factors, choice.constant)
            case Row.UNIFORM:
                return WarpSlot(0)
            case Row.AFFINE_BASE:
                return WarpBase(0, choice.factors)
            case Row.OTHER:
                return ThreadSlot((0, 0)) if self.per_thread(name, choice) else LocalSlot(0)

    def written(
        self, problem: Problem, allocation: Allocation, choices: dict[str, Choice], bases: tuple[bool, bool]
    ) -> Spilled:
        kernel, settings = self.kernel, self.settings
        places, layout, local = self.placed(choices)
        prefixes = {
            bits: unused_name(kernel.function, prefix, frozenset()) for bits, prefix in _PREFIXES.items()
        }
        guarded = {
            bits: unused_name(kernel.function, f"{prefix}g", frozenset()) for bits, prefix in prefixes.items()
        }
        capability = kernel.arch.capability
        names = Names(
            prefixes,
            guarded,
            unused_name(kernel.function, "weft_depot", frozenset()),
            unused_name(kernel.function, "weft_slots", frozenset(v.name for v in kernel.module.variables())),
            volatile_local=capability >= 75,
        )
        number = problem.budget
        if not settings.count_bases:
            number = max((w + 1 for sides in allocation.scratch for ws in sides for w in ws), default=number)
        warp_base = thread_base = None
        if bases[0]:
            warp_base = names.register((number,), 32)
            number += 1
        if bases[1]:
            thread_base = names.register((number,), 32)
        rows = kernel.block is not None and kernel.block[1:] == (1, 1)
        code = SpillCode(
            places,
            names,
            setup(names, layout, rows=rows, warp_base=warp_base, thread_base=thread_base),
            _variables(names, layout.size, local),
            warp_base,
            thread_base,
            self.syncs(choices),
        )
        reuse = reused(problem, allocation) if settings.reuse else everywhere(problem, allocation)
        made = rewrite(problem, allocation, reuse, code)
        function = made.function
        if settings.block is not None:
            kept = tuple(d for d in function.directives if d.name not in ("maxntid", "reqntid"))
            function = dataclasses.replace(function, directives=(*kept, Directive("reqntid", settings.block)))
        elif layout.size and function.directive("reqntid") is None and function.directive("maxntid") is None:
            # There are slots for so many threads and no more.
            function = dataclasses.replace(
                function, directives=(*function.directives, Directive("maxntid", (kernel.threads, 1, 1)))
            )
        function = dataclasses.replace(function, parameters=self.parameters())
        pressure = pressure_of(liveness_of(flow_of(function)), register_words(function)).words
        return Spilled(
            kernel, settings, function, settings.policy, choices, places, made.inserted, pressure, layout.size,
            local, self.occupancy(0), self.occupancy(layout.size), list(self.remarks),
        )  # fmt: skip

    def parameters(self) -> tuple[Variable, ...]:
        """The parameters, those that addresses come from marked, which cannot be seen where these are spilled."""
        kernel = self.kernel
        if any(p.pointer is not None for p in kernel.source.parameters):
            return kernel.source.parameters
        return tuple(
            dataclasses.replace(p, pointer=PointerTo(align=1)) if number in kernel.facts.pointers else p
            for number, p in enumerate(kernel.source.parameters)
        )

    def syncs(self, choices: Mapping[str, Choice]) -> frozenset[int]:
        """The stores that come behind a ``bar.warp.sync``."""
        kernel = self.kernel
        return frozenset(
            number
            for name, choice in choices.items()
            if choice.row in (Row.UNIFORM, Row.AFFINE_BASE) and choice.sharing is Sharing.SYNCED
            for number in kernel.writers[name]
            if not kernel.convergence.converged[number]
        )

    def placed(self, choices: Mapping[str, Choice]) -> tuple[dict[str, Place], SharedLayout, int]:
        """Places with their offsets, where slots are in shared memory, and bytes of local memory."""
        kernel = self.kernel
        shared = [n for n, c in choices.items() if c.row in (Row.UNIFORM, Row.AFFINE_BASE)]
        threads = [n for n, c in choices.items() if self.per_thread(n, c)]
        local = [n for n, c in choices.items() if c.row is Row.OTHER and n not in threads]
        at_shared, warp_bytes = offsets([kernel.values[n].bits // 8 for n in shared])
        at_local, local_bytes = offsets([kernel.values[n].bits // 8 for n in local])
        words = sum(max(1, kernel.values[n].bits // 32) for n in threads)
        layout = SharedLayout(kernel.threads, warp_bytes, words)
        places: dict[str, Place] = {n: self.draft(n, c) for n, c in choices.items()}
        for name, offset in zip(shared, at_shared, strict=True):
            row = choices[name]
            places[name] = WarpBase(offset, row.factors) if row.factors else WarpSlot(offset)
        for name, offset in zip(local, at_local, strict=True):
            places[name] = LocalSlot(offset)
        word = 0
        for name in threads:
            count = max(1, kernel.values[name].bits // 32)
            places[name] = ThreadSlot(tuple(layout.word(word + k) for k in range(count)))
            word += count
        return places, layout, local_bytes


def _scratch_on_top(allocation: Allocation, budget: int, demands: Mapping[str, Demand]) -> None:
    """Give spill code words beyond the budget."""
    for number, (read, written) in enumerate(zip(allocation.reads, allocation.writes, strict=True)):
        before = scratch_words(demands, [n for n in read if n in allocation.spilled], reload=True)
        behind = scratch_words(demands, [n for n in written if n in allocation.spilled], reload=False)
        allocation.scratch[number] = (
            tuple(range(budget, budget + before)),
            tuple(range(budget, budget + behind)),
        )


def _variables(names: Names, shared: int, local: int) -> list[Variable]:
    found = []
    if local:
        found.append(Variable("local", "b8", names.depot, align=8, extents=(local,)))
    if shared:
        found.append(Variable("shared", "b8", names.slots, align=16, extents=(shared,)))
    return found
