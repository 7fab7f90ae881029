"""Members of enumerations: numbers where their class is one of numbers, else their position in the class."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import Typed, literal, static
from weft.frontend.python.types import Enumeration
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Member(Typed):
    """A member that is known at compile time."""

    __slots__ = ("member",)

    def __init__(self, member: enum.Enum) -> None:
        if isinstance(member, (int, float)):
            number = literal(int(member) if isinstance(member, int) else float(member))
            super().__init__(number.type, literal=number.literal, low=number.low)
        else:
            type_ = Enumeration(type(member))
            super().__init__(type_, (const_int(type_.members.index(member)),))
        self.member = member


def member_of(cls: type[enum.Enum], key: object) -> Member:
    """``Color["red"]``."""
    if not isinstance(key, str):
        raise TypingError(f"a member of {cls.__name__} is named by a string literal")
    if key not in cls.__members__:
        raise TypingError(
            f"{cls.__name__} has no member '{key}'", hint=f"it has {', '.join(cls.__members__)}"
        )
    return Member(cls[key])


def member_with(cls: type[enum.Enum], value: Typed) -> Member:
    """``Color(1)``."""
    try:
        return Member(cls(value.literal if value.is_literal else value.static))
    except (ValueError, TypeError):
        raise TypingError(
            f"{cls.__name__}() takes a literal that is the value of a member",
            hint=f"write {cls.__name__}.{next(iter(cls.__members__), '...')}",
        ) from None


def enum_attribute(low: Lowering, value: Typed, name: str) -> Typed | None:
    """``member.value`` and ``member.name``; None for other attributes."""
    from weft.frontend.python.lowering.choices import select
    from weft.frontend.python.lowering.globals_ import value_of

    if name not in ("value", "name"):
        return None
    if isinstance(value, Member):
        return value_of(low, value.member.value) if name == "value" else static(value.member.name)
    if not isinstance(value.type, Enumeration):
        return None
    members = value.type.members
    (place,) = value.parts
    if isinstance(place, ConstInt):
        return enum_attribute(low, Member(members[place.signed]), name)
    if name == "name":
        raise TypingError(f"which member of {value.type} this is, is not known at compile time")
    result = value_of(low, members[0].value)
    for position, member in enumerate(members[1:], 1):
        chosen = low.builder.icmp("eq", place, const_int(position))
        result = select(low, chosen, value_of(low, member.value), result)
    return result


def same_member(low: Lowering, a: Typed, b: Typed) -> Typed | None:
    """``a == b``, where one is a member of a class whose members are no numbers; None otherwise."""
    from weft.frontend.python.types import boolean

    if not (isinstance(a.type, Enumeration) or isinstance(b.type, Enumeration)):
        return None
    if a.type is not b.type:
        return literal(False)
    one, other = a.parts[0], b.parts[0]
    if isinstance(one, ConstInt) and isinstance(other, ConstInt):
        return literal(one.value == other.value)
    return Typed(boolean, (low.builder.icmp("eq", one, other),))
