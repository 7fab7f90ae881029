"""Local variables: one stack slot per component, typed by the join of all assignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.diag.remarks import RemarkKind
from weft.diag.source import SourceSpan
from weft.frontend.python.components import components, item_type
from weft.frontend.python.lowering.arrays.heap import is_pointer
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed
from weft.frontend.python.lowering.checks import UNASSIGNED, check
from weft.frontend.python.lowering.context import NotYetTyped
from weft.frontend.python.lowering.joins import Info, info_of, join_infos
from weft.frontend.python.lowering.numbers.casts import cast, convert
from weft.frontend.python.lowering.numbers.comparisons import truth
from weft.frontend.python.types import NoneType, Scalar, Static, boolean
from weft.frontend.python.webs import written_name
from weft.ir.constants import FALSE, TRUE
from weft.ir.types import I1
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

RESULT = "return"
"""The name (no identifier) of the variable that holds a function's result."""

_NAMED_ROLES = ("value", "real", "imag", "data", "record")


class TypeConflict(TypingError):
    """The assignments of a variable have no common type."""

    def __init__(
        self, message: str, span: SourceSpan | None = None, hint: str | None = None, name: str = ""
    ) -> None:
        super().__init__(message, span, hint)
        self.name = name


class Variable:
    """A variable in one walk: what was assumed, what assignments of this walk gave, and where it lives."""

    __slots__ = ("bound", "flag", "found", "info", "reads_at", "slots", "span")

    def __init__(self, info: Info | None) -> None:
        self.info = info
        self.found: Info | None = None
        self.bound: Typed | None = None
        self.flag: Value | None = None
        self.slots: tuple[Value, ...] | None = None
        self.span: SourceSpan | None = None
        self.reads_at: Info | None = None


class VariableTable:
    """The variables of one walk; `stable` says whether the walk's assumptions held."""

    __slots__ = ("_declared", "_variables", "stable")

    def __init__(self, assumed: dict[str, Info], declared: Mapping[str, Scalar]) -> None:
        self._declared = declared
        self._variables = {name: Variable(info) for name, info in assumed.items()}
        self.stable = True

    def bind(self, name: str, value: Typed) -> None:
        """Let a name stand for a value for good: a parameter that is never assigned, a literal."""
        self._variables.setdefault(name, Variable(None)).bound = value

    def bound_value(self, name: str) -> Typed | None:
        variable = self._variables.get(name)
        return variable.bound if variable else None

    def info(self, name: str) -> Info | None:
        """What is known of a variable so far; asking relies on it."""
        variable = self._variables.get(name)
        if variable is None or variable.info is None:
            return None
        variable.reads_at = variable.info
        return variable.info

    def load(self, low: Lowering, name: str) -> Typed:
        """The value of a variable."""
        variable = self._variables.get(name)
        if variable is not None and variable.bound is not None:
            if variable.flag is not None:
                self._check_assigned(low, name, variable)
            return _known_to_be(variable.bound, low.facts.get(name))
        if variable is None or variable.info is None:
            raise NotYetTyped(*_unassigned(name))
        if variable.found is None and not low.loops:
            # Typed by an assignment further down, which control does not reach before this.
            message, hint = _unassigned(name)
            raise TypingError(message, hint=hint)
        info = variable.reads_at = variable.info
        self._check_assigned(low, name, variable)
        slots = self._slots(low, name, variable)
        parts = tuple(
            low.builder.load(c.type, slot) for c, slot in zip(components(info.type), slots, strict=True)
        )
        for slot, part in zip(slots, parts, strict=True):
            low.known.loaded(slot, part)
        # Of a variable with several assignments the bound may change in a later walk, and with it the code.
        sure = info.sure and low.scope.is_bound_once(name)
        return _known_to_be(Typed(info.type, parts, low=info.low, sure=sure), low.facts.get(name))

    def store(self, low: Lowering, name: str, value: Typed, span: SourceSpan) -> None:
        """Assign to a variable, as the type that was declared for it if one was."""
        declared = self._declared.get(written_name(name)) if self._declared else None
        if declared is not None:
            value = _as_declared(low, name, value, declared)
        variable = self._variables.setdefault(name, Variable(None))
        if low.unit.options.debug and name != RESULT:
            low.builder.store(TRUE, self._flag(low, name, variable))
        if _is_constant(value) and low.scope.is_bound_once(name) and not low.unrolled:
            variable.bound = value
            return
        if variable.bound is not None:
            variable.bound = None
            self.stable = False
        self._widen(low, name, variable, value, span)
        assert variable.info is not None
        slots = self._slots(low, name, variable)
        for part, slot in zip(convert(low, value, variable.info.type), slots, strict=True):
            low.builder.store(part, slot)
            low.known.stored(slot, part)

    def slots_of(self, names: Iterable[str]) -> list[Value]:
        """Where variables live, as far as they do yet."""
        found = (self._variables.get(name) for name in names)
        return [slot for variable in found if variable is not None for slot in variable.slots or ()]

    def _check_assigned(self, low: Lowering, name: str, variable: Variable) -> None:
        if low.unit.options.debug and name != RESULT:
            assigned = low.builder.load(I1, self._flag(low, name, variable))
            check(low, UNASSIGNED, low.builder.binary("xor", assigned, TRUE))

    def _flag(self, low: Lowering, name: str, variable: Variable) -> Value:
        """Where it is noted, for checks, whether the variable has a value."""
        if variable.flag is None:
            variable.flag = low.alloca(I1, f"{name}.assigned")
            low.entry_builder.store(FALSE, variable.flag)
        return variable.flag

    def _widen(self, low: Lowering, name: str, variable: Variable, value: Typed, span: SourceSpan) -> None:
        """Take a value's type into the variable's."""
        new = info_of(value)
        found, loses = self._join(name, variable, variable.found, new, span)
        variable.found = found
        joined = new if variable.info is None else self._join(name, variable, variable.info, new, span)[0]
        if variable.info is not None and joined.type is not variable.info.type:
            self.stable = False
            variable.slots = None
        read = variable.reads_at
        if read is not None and read.low is not None and _is_weaker(joined, read):
            # Widen at once: a bound that sinks by one in each walk would never settle.
            self.stable = False
            joined = found = Info(joined.type, joined.literals, None)
        variable.info = joined
        variable.found = found
        if loses:
            low.unit.remarks.add(
                RemarkKind.TYPE_JOIN,
                f"{_described(name)} becomes {found.type}, which does not hold every {new.type}"
                if found.type is not new.type
                else f"{_described(name)} becomes {found.type}, which does not hold all values assigned elsewhere",
                span,
                hint="convert explicitly, as in np.float64(value), where that is what you mean",
                pass_name="frontend",
            )
        variable.span = variable.span or span

    def _join(
        self, name: str, variable: Variable, old: Info | None, new: Info, span: SourceSpan
    ) -> tuple[Info, bool]:
        if old is None:
            return new, False
        try:
            return join_infos(old, new)
        except TypingError:
            where = f" at {variable.span}" if variable.span else ""
            if name == RESULT and isinstance(new.type, NoneType) != isinstance(old.type, NoneType):
                value = old if isinstance(new.type, NoneType) else new
                raise TypingError(
                    f"the function returns {value.type} on one way, and nothing on another",
                    variable.span if isinstance(old.type, NoneType) else span,
                    "return a value on every path, or on none",
                ) from None
            here, there = f"{new.type}", f"{old.type}"
            hint = "both may reach one place, where a variable has one type: use two names"
            if here == there and isinstance(new.type, Static):
                # What is known when the function is compiled, as a range is.
                here, there = f"one {here}", "another"
                hint = "it is known at compile time, so one place takes one: choose between numbers, as a range's ends"
            raise TypeConflict(
                f"{_described(name)} is {here} here and {there}{where}", span, hint, name
            ) from None

    def _slots(self, low: Lowering, name: str, variable: Variable) -> tuple[Value, ...]:
        if variable.slots is None:
            assert variable.info is not None
            type = variable.info.type
            parts = components(type)
            variable.slots = tuple(low.alloca(c.type, name + c.suffix) for c in parts)
            loc = low.builder.loc
            if name != RESULT and loc is not None:
                describe = low.unit.debug_info.describe
                low.debug_records += [
                    describe("declare", slot, name + c.suffix, item_type(type, c.path), loc)
                    for c, slot in zip(parts, variable.slots, strict=True)
                    if c.role in _NAMED_ROLES
                ]
        return variable.slots

    def pointer_slots(self) -> list[Value]:
        """Where variables hold addresses, the result not counted."""
        return [
            slot
            for name, variable in self._variables.items()
            if name != RESULT and variable.info is not None and variable.slots is not None
            for component, slot in zip(components(variable.info.type), variable.slots, strict=True)
            if is_pointer(component)
        ]

    def finish(self) -> bool:
        """Whether the assumptions of the walk held to its end."""
        for variable in self._variables.values():
            if variable.found is not None and variable.info is not None:
                self.stable &= variable.found.type is variable.info.type
        return self.stable

    def next_assumption(self, widen: bool) -> dict[str, Info]:
        """What the next walk should assume; `widen` keeps what was assumed, so that walks come to an end."""
        result: dict[str, Info] = {}
        for name, variable in self._variables.items():
            found, info = variable.found, variable.info
            if found is None or info is None:
                continue
            low = None if found.low is None or info.low is None else min(found.low, info.low)
            base = join_infos(found, info)[0] if widen else found
            result[name] = Info(base.type, base.literals, low, found.sure and info.sure)
        return result


def _unassigned(name: str) -> tuple[str, str]:
    name = written_name(name)
    return f"variable '{name}' is used before it has a value", f"assign '{name}' on every way to this line"


def _known_to_be(value: Typed, least: int | None) -> Typed:
    """A value of which a condition says that it is at least `least`."""
    if least is None or value.is_literal or (value.low is not None and value.low >= least):
        return value
    return Typed(value.type, value.parts, low=least)


def _is_weaker(new: Info, read: Info) -> bool:
    """Whether the lower bound that a read has relied on does not hold any more."""
    assert read.low is not None
    return new.low is None or new.low < read.low


def _as_declared(low: Lowering, name: str, value: Typed, declared: Scalar) -> Typed:
    if not isinstance(value.type, Scalar):
        raise TypingError(f"{_described(name)} is declared to be {declared}, and gets {value.type}")
    return truth(low, value) if declared is boolean else cast(low, value, declared)


def _described(name: str) -> str:
    return "the result" if name == RESULT else f"variable '{written_name(name)}'"


def _is_constant(value: Typed) -> bool:
    """Whether a value is known at compile time."""
    if isinstance(value, TupleValue):
        return all(map(_is_constant, value.items))
    return value.is_literal or isinstance(value.type, (Static, NoneType))
