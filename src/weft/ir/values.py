"""Values and their use lists.

A value that a function owns (argument, instruction, block) knows its users: ``value.users`` maps each
user (an instruction, or a block for its predicate) to the number of times it uses the value. Constants,
functions and global variables are shared between functions and keep no use list.

Debug records (``#dbg_value`` and its like) refer to values without being users: a value used by nothing
but debug records is dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from weft.ir.types import Type

if TYPE_CHECKING:
    from weft.ir.block import BasicBlock
    from weft.ir.instruction import Instruction
    from weft.ir.metadata import DbgRecord

    User = Instruction | BasicBlock


class Value:
    """Anything an instruction can take as an operand."""

    __slots__ = ("name", "records", "type", "users")

    tracks_users = True
    is_function = False
    is_block = False

    def __init__(self, type: Type, name: str = "") -> None:
        self.type = type
        self.name = name
        self.users: dict[User, int] = {}
        self.records: Sequence[DbgRecord] = ()

    def add_user(self, user: User) -> None:
        if self.tracks_users:
            self.users[user] = self.users.get(user, 0) + 1

    def drop_user(self, user: User) -> None:
        if not self.tracks_users:
            return
        count = self.users[user] - 1
        if count:
            self.users[user] = count
        else:
            del self.users[user]

    def replace_all_uses(self, new: Value) -> None:
        """Let every user and debug record refer to `new` instead."""
        if new is self:
            return
        for user in list(self.users):
            user.replace_operand(self, new)
        for record in list(self.records):
            record.replace(self, new)

    @property
    def is_used(self) -> bool:
        return bool(self.users)

    def instruction_users(self) -> Iterator[Instruction]:
        """The users that are instructions (a block that has this value as predicate is not one)."""
        for user in self.users:
            if not user.is_block:
                yield user  # type: ignore[misc]


def string_attribute(attributes: tuple[str, ...], key: str) -> str | None:
    """The value of string attribute `key` (``"key"="value"``; ``""`` if it has none) among texts, or None."""
    for text in attributes:
        if text.startswith(f'"{key}"'):
            return text.partition("=")[2].strip('"')
    return None


class Argument(Value):
    """A parameter of a function; `attributes` are LLVM's parameter attributes, each as its text."""

    __slots__ = ("attributes", "index")

    def __init__(self, type: Type, name: str = "", index: int = 0, attributes: tuple[str, ...] = ()) -> None:
        super().__init__(type, name)
        self.index = index
        self.attributes = attributes

    def attribute(self, key: str) -> str | None:
        """The value of string attribute `key` (``"key"="value"``; ``""`` if it has none), or None."""
        return string_attribute(self.attributes, key)

    def __repr__(self) -> str:
        return f"<Argument {self.type} %{self.name}>"
