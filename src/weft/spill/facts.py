"""What is known of the values of a kernel in PTX: their polynomials in the thread id, and where threads part.

The kernel is lifted to P-LLVM and analysed on gated SSA (Sampaio et al. §3.4). To find a register's values there again,
the function is lifted with *markers*: a volatile store to an address of its own behind each write, before each read and
before each guarded branch. When registers have become SSA values, each marker is replaced by a ``freeze`` of what it
stored, and that is asked about; so a read behind a loop is seen through its η, and a write under a guard as what the
register then holds.

What cannot be lifted (textures, tensor cores) stands there as an unknown value, different in each thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.analysis.divergence.threads import Scope
from weft.analysis.gated.polynomial import Polynomial, PolynomialDomain
from weft.analysis.gated.sparse import PolynomialDivergence, ids_domain, polynomial_divergence
from weft.diag.errors import UnsupportedError, WeftError
from weft.ir import Builder, ConstExpr, ConstInt, Function, Instruction
from weft.ir.constants import Constant
from weft.ir.reader import read_module
from weft.ir.types import IntType
from weft.ir.writer import write_module
from weft.ptx import syntax
from weft.ptx.instructions import Effect, variant_of
from weft.ptx.lift.addresses import find_objects
from weft.ptx.lift.kernel import lift_kernel
from weft.ptx.registers import reads, register_types, writes
from weft.ptx.types import bits_of
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import SROA_ONLY, optimize

_FIRST = 0x7E57_0000_0000
_STEP = 16
_WORD = "%weft_marked"
_HALF = "%weft_marked_half"
_UNKNOWN = "%weft_unknown"


@dataclass(frozen=True, slots=True)
class Marker:
    """A point of the program and a register: instruction `number` has written (`written`) or will read it."""

    number: int
    register: str
    written: bool


@dataclass(slots=True)
class KernelFacts:
    """What the analysis knows.

    Attributes
    ----------
    states
        The polynomial at each marker; missing where a point is never reached.
    domain
        Theirs; None where nothing is known of the kernel.
    per_warp
        Whether they are about warps that lie along x. Else they are about work-groups, which holds for warps, too.
    unknown
        Why nothing is known, or which instructions are unknown.
    pointers
        Numbers of the parameters that addresses of accesses are computed from.
    """

    states: dict[Marker, Polynomial] = field(default_factory=dict)
    domain: PolynomialDomain | None = None
    per_warp: bool = False
    unknown: list[str] = field(default_factory=list)
    pointers: frozenset[int] = frozenset()

    def of(self, register: str) -> Polynomial | None:
        """What holds of a register wherever it is written or read; None where nothing is known."""
        found: Polynomial | None = None
        for marker, state in self.states.items():
            if marker.register == register:
                found = state if found is None else state.domain.meet(found, state)
        return found

    def by_register(self) -> dict[str, Polynomial]:
        """`of` all registers."""
        found: dict[str, Polynomial] = {}
        for marker, state in self.states.items():
            known = found.get(marker.register)
            found[marker.register] = state if known is None else state.domain.meet(known, state)
        return found

    def parts(self, number: int, guard: str) -> bool:
        """Whether threads that are together at a guarded instruction may disagree on its guard."""
        if self.domain is None:
            return True
        state = self.states.get(Marker(number, guard, False))
        return state is not None and not state.is_uniform


def facts_of(
    module: syntax.Module,
    function: syntax.Function,
    *,
    degree: int = 1,
    block: tuple[int, int, int] | None = None,
) -> KernelFacts:
    """Analyse a kernel.

    Parameters
    ----------
    module
        Where it is.
    function
        The kernel with webs for registers (`weft.ptx.regalloc.webs`); it takes the place of the one of its name.
    degree
        Of the polynomials, 1 or 2.
    block
        The size of work-groups, where it is known for certain. Rows of whole warps make facts about warps.
    """
    facts = KernelFacts(per_warp=block is not None and block[0] % 32 == 0)
    hidden: set[int] = set()
    for number, instruction in enumerate(function.instructions()):
        if variant_of(instruction).effects & Effect.OPAQUE:
            hidden.add(number)
    lifted: tuple[Function, frozenset[int]] | None = None
    markers: list[Marker] = []
    while lifted is None:
        made = _Marked(module, function, hidden)
        markers = made.markers
        try:
            lifted = _lifted(made.module(), function.name)
        except UnsupportedError as error:
            number = _number_at(function, error)
            if number is None or number in hidden:
                facts.unknown.append(str(error.message))
                return facts
            hidden.add(number)
        except WeftError as error:
            facts.unknown.append(str(error.message))
            return facts
    instructions = list(function.instructions())
    facts.unknown += sorted({instructions[number].name for number in hidden})
    scope = Scope.LANES if facts.per_warp else Scope.GROUP
    kernel, facts.pointers = lifted
    facts.domain = ids_domain(degree, scope, 0)
    found = polynomial_divergence(kernel, degree, scope=scope, dimension=0, domain=facts.domain)
    for marker, state in _states(kernel, markers, found):
        facts.states[marker] = state
    return facts


def _number_at(function: syntax.Function, error: WeftError) -> int | None:
    """The instruction that an error is about."""
    span = error.span
    if span is None:
        return None
    for number, instruction in enumerate(function.instructions()):
        if (instruction.line, instruction.column) == (span.line, span.column):
            return number
    return None


@dataclass(slots=True)
class _Marked:
    """The function with markers."""

    text: syntax.Module
    function: syntax.Function
    hidden: set[int]
    markers: list[Marker] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)

    def module(self) -> syntax.Module:
        self.types = register_types(self.function)
        vectors = {
            name
            for s in self.function.body or ()
            if isinstance(s, syntax.RegisterDeclaration) and s.vector
            for name in s.names()
        }
        body: list[syntax.Statement] = [
            syntax.RegisterDeclaration("b32", (syntax.RegisterNames(_WORD), syntax.RegisterNames(_UNKNOWN))),
            syntax.RegisterDeclaration("b16", (syntax.RegisterNames(_HALF),)),
        ]
        number = 0
        for statement in self.function.body or ():
            if isinstance(statement, syntax.Loc):
                continue
            if not isinstance(statement, syntax.Instruction):
                body.append(statement)
                continue
            read = [r for r in reads(statement) if r not in vectors]
            guard = statement.guard
            names = read if guard is None else dict.fromkeys([guard.register.name, *read])
            for name in names:
                body += self.mark(Marker(number, name, False))
            if number in self.hidden:
                body += self.unknown(statement, vectors)
            else:
                body.append(statement)
            if not variant_of(statement).effects & (Effect.BRANCH | Effect.ENDS):
                for name in writes(statement):
                    if name not in vectors:
                        body += self.mark(Marker(number, name, True))
            number += 1
        function = dataclasses.replace(self.function, body=body)
        items = [function if _is_same(item, self.function) else item for item in self.text.body]
        return dataclasses.replace(self.text, body=items)

    def mark(self, marker: Marker) -> Iterator[syntax.Statement]:
        address = syntax.Address(syntax.Integer(_FIRST + _STEP * len(self.markers)))
        type = self.types.get(marker.register)
        if type is None:
            return
        self.markers.append(marker)
        bits = bits_of(type)
        register = syntax.Register(marker.register)
        if type == "pred":
            word = syntax.Register(_WORD)
            chosen = (word, syntax.Integer(1), syntax.Integer(0), register)
            yield syntax.Instruction("selp", ("b32",), chosen)
            register, bits = word, 32
        if bits > 64:
            self.markers.pop()
            return
        yield syntax.Instruction("st", ("volatile", "global", f"b{bits}"), (address, register))

    def unknown(self, i: syntax.Instruction, vectors: set[str]) -> Iterator[syntax.Statement]:
        """Instead of an instruction: its registers get values of which nothing is known."""
        word = syntax.Register(_UNKNOWN)
        for name in writes(i):
            if name in vectors:
                continue
            register, type = syntax.Register(name), self.types[name]
            bits = bits_of(type)
            clock = "%clock64" if bits == 64 else "%clock"
            yield syntax.Instruction("mov", ("u64" if bits == 64 else "u32",), (
                register if bits == 64 and type != "f64" else word if bits != 64 else register,
                syntax.SpecialRegister(clock),
            ), i.guard)  # fmt: skip
            if type == "pred":
                yield syntax.Instruction("setp", ("ne", "u32"), (register, word, syntax.Integer(0)), i.guard)
            elif bits == 16:
                yield syntax.Instruction("cvt", ("u16", "u32"), (syntax.Register(_HALF), word))
                yield syntax.Instruction("mov", ("b16",), (register, syntax.Register(_HALF)), i.guard)
            elif bits == 32:
                yield syntax.Instruction("mov", ("b32",), (register, word), i.guard)


def _is_same(item: object, function: syntax.Function) -> bool:
    return isinstance(item, syntax.Function) and item.name == function.name and item.body is not None


def _lifted(text: syntax.Module, name: str) -> tuple[Function, frozenset[int]]:
    """The kernel in SSA form with a ``freeze`` for each marker, and the numbers of its pointers."""
    with COMPILING:
        lifted = write_module(lift_kernel(text, name), plain=True)
        module = read_module(optimize(lifted, SROA_ONLY, TargetSpec.chosen().machine))
    kernel = module.functions[name]
    parameters = text.function(name).parameters
    marked = frozenset(k for k, parameter in enumerate(parameters) if parameter.pointer is not None)
    through: dict[int, list[Instruction]] = {}
    for function in list(module.definitions()):
        found = find_objects(function, marked if function is kernel else frozenset())
        if function is kernel:
            through = found
    _freeze(kernel)
    return kernel, frozenset(through)


def _freeze(kernel: Function) -> None:
    """A ``freeze`` named after its number for each marker."""
    for store in list(kernel.instructions()):
        number = _marker_number(store)
        if number is None:
            continue
        builder = Builder(store.block, store)
        builder.build("freeze", store.operands[0].type, (store.operands[0],), name=f"marker.{number}")
        store.erase()


def _marker_number(store: Instruction) -> int | None:
    if store.op != "store":
        return None
    address = store.operands[1]
    if isinstance(address, (ConstExpr, Instruction)) and address.op == "inttoptr":
        value = address.operands[0]
        if isinstance(value, ConstInt):
            number, rest = divmod(value.value - _FIRST, _STEP)
            if number >= 0 and not rest and number < 1 << 28:
                return number
    return None


def _states(
    kernel: Function, markers: list[Marker], found: PolynomialDivergence
) -> Iterator[tuple[Marker, Polynomial]]:
    for instruction in kernel.instructions():
        if instruction.op == "freeze" and (instruction.name or "").startswith("marker."):
            use = found.graph.gated.use(instruction, 0)
            state = found.state(use)
            if state is None and isinstance(use, ConstInt):
                bits = use.type.bits if isinstance(use.type, IntType) else 0
                state = found.domain.constant(bits, use.value)
            if state is None and isinstance(use, Constant):
                state = found.state(instruction)
            if state is not None:
                yield markers[int(instruction.name.partition(".")[2])], state
