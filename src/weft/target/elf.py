"""What is in an object file of Linux: undefined symbols, the functions that refer to them, where a symbol is."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

from weft.diag.errors import CompileError

_HEADER = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMBOL_TABLE, _RELOCATIONS = 2, 4
_FUNCTION, _THREAD_LOCAL = 2, 6
_LINKERS_OWN = frozenset({"", "_GLOBAL_OFFSET_TABLE_"})


class Needed(Struct, frozen=True):
    """An undefined symbol.

    Parameters
    ----------
    name
        The symbol.
    users
        Functions of the object that refer to it, in their order.
    """

    name: str
    users: tuple[str, ...]


class _Symbol(Struct, frozen=True):
    name: str
    info: int
    section: int
    value: int
    size: int

    @property
    def kind(self) -> int:
        return self.info & 15


def needed_symbols(data: bytes) -> tuple[Needed, ...]:
    """Return the undefined symbols of an object file, in the order of its symbol table.

    Raises
    ------
    CompileError
        The bytes are no object file, or it has variables that are one for each thread, which cannot be loaded.
    """
    try:
        return tuple(_needed(data))
    except (struct.error, IndexError, ValueError):
        raise CompileError("object code cannot be linked, it is not an object file of 64-bit ELF") from None


def place_in_section(data: bytes, name: str) -> tuple[int, int]:
    """Return where in its section a symbol of an object file is, and the size of that section."""
    sections = _sections(data)
    symbol = next(s for s in _all_symbols(data, sections) if s.name == name and s.section)
    return symbol.value, sections[symbol.section][5]


def _needed(data: bytes) -> Iterator[Needed]:
    sections = _sections(data)
    symbols = _all_symbols(data, sections)
    for symbol in symbols:
        if symbol.kind == _THREAD_LOCAL:
            raise CompileError(
                f"object code cannot be linked: {symbol.name} is thread_local",
                hint="weft loads no code with variables that each thread has an instance of",
            )
    users = _users(data, sections, symbols)
    for number, symbol in enumerate(symbols):
        if symbol.section == 0 and symbol.name not in _LINKERS_OWN:
            yield Needed(symbol.name, tuple(users.get(number, ())))


def _sections(data: bytes) -> list[tuple[int, ...]]:
    magic, bits, order, *_, table, _, _, _, _, size, count, _ = _HEADER.unpack_from(data)
    if magic != b"\x7fELF" or (bits, order) != (2, 1):
        raise ValueError(magic)
    return [_SECTION.unpack_from(data, table + size * n) for n in range(count)]


def _all_symbols(data: bytes, sections: list[tuple[int, ...]]) -> list[_Symbol]:
    return [
        s for section in sections if section[1] == _SYMBOL_TABLE for s in _symbols(data, sections, section)
    ]


def _symbols(data: bytes, sections: list[tuple[int, ...]], table: tuple[int, ...]) -> Iterator[_Symbol]:
    _, _, _, _, start, size, names, _, _, _ = table
    strings = sections[names][4]
    for at in range(start, start + size, _SYMBOL.size):
        name, info, _, section, value, extent = _SYMBOL.unpack_from(data, at)
        begin = strings + name
        yield _Symbol(
            data[begin : data.index(b"\0", begin)].decode(errors="surrogateescape"),
            info,
            section,
            value,
            extent,
        )


def _users(
    data: bytes, sections: list[tuple[int, ...]], symbols: list[_Symbol]
) -> dict[int, dict[str, None]]:
    """The functions that refer to undefined symbols, by the symbol's number."""
    found: dict[int, dict[str, None]] = {}
    for _, kind, _, _, start, size, _, target, _, _ in sections:
        if kind != _RELOCATIONS:
            continue
        functions = [s for s in symbols if s.kind == _FUNCTION and s.section == target]
        for at in range(start, start + size, _RELOCATION.size):
            offset, info, _ = _RELOCATION.unpack_from(data, at)
            number = info >> 32
            if symbols[number].section:
                continue
            for function in functions:
                if function.value <= offset < function.value + function.size:
                    found.setdefault(number, {})[function.name] = None
    return found
