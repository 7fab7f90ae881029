"""Reading attributes, calling conventions and the other words around a function's name."""

from __future__ import annotations

from weft.ir import keywords
from weft.ir.reader.cursor import Cursor


def read_attributes(c: Cursor, known: frozenset[str]) -> tuple[str, ...]:
    """Attributes of a parameter, a result or a function, each as its text."""
    tokens = c.tokens
    found: list[str] = []
    while True:
        token = tokens[c.pos]
        if token in known:
            c.pos += 1
            following = tokens[c.pos]
            if following == "(" and token not in keywords.BARE_ATTRIBUTES:
                found.append(token + c.balanced_text())
            elif token == "align" or (following == "=" and token == "alignstack"):
                c.accept("=")
                value = c.integer()
                found.append(f"align {value}" if token == "align" else f"alignstack({value})")
            else:
                found.append(token)
        elif token[0] == '"':
            key = f'"{c.string()}"'
            found.append(f'{key}="{c.string()}"' if c.accept("=") else key)
        else:
            return tuple(found)


def read_function_attributes(c: Cursor) -> tuple[str, ...]:
    """Attributes after a parameter or argument list, attribute groups written out."""
    found: tuple[str, ...] = ()
    while True:
        found += read_attributes(c, keywords.FUNCTION_ATTRIBUTES)
        token = c.tokens[c.pos]
        if token[0] != "#" or not token[1:].isdigit():
            return found
        group = c.context.attribute_groups.get(token)
        if group is None:
            raise c.error(f"attribute group {token} is not defined")
        found += group
        c.pos += 1


def read_attribute_group(c: Cursor) -> None:
    """``attributes #0 = { ... }``."""
    c.expect("attributes")
    name = c.take()
    if name[0] != "#" or name in c.context.attribute_groups:
        raise c.error(f"expected the name of a new attribute group, found {name!r}", at=c.pos - 1)
    c.expect("=")
    c.expect("{")
    c.context.attribute_groups[name] = read_attributes(c, keywords.GROUP_ATTRIBUTES)
    if not c.accept("}"):
        raise c.error(f"{c.shown()} is no function attribute that weft knows")


def read_calling_convention(c: Cursor) -> str:
    """``fastcc``, ``cc 10`` or ``cc10``, ``riscv_vls_cc(128)``, ...; the C convention is the empty string."""
    token = c.tokens[c.pos]
    if token == "cc":
        c.pos += 1
        return f"cc {c.integer()}"
    if token[:2] == "cc" and token[2:].isdigit():
        c.pos += 1
        return f"cc {token[2:]}"
    if token not in keywords.CALLING_CONVENTIONS:
        return ""
    c.pos += 1
    if token == "riscv_vls_cc" and c.token == "(":
        return token + c.balanced_text()
    return "" if token == "ccc" else token
