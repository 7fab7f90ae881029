"""Names of values and blocks while a function's body is read."""

from __future__ import annotations

from weft.ir.block import BasicBlock
from weft.ir.reader.cursor import Cursor, FunctionScope
from weft.ir.values import Value


def scope_of(c: Cursor) -> FunctionScope:
    """The scope of the function that is being read."""
    assert c.scope is not None, "not in a function"
    return c.scope


def block_of(c: Cursor) -> BasicBlock:
    """The block that the current token ``%name`` refers to, which may be read later."""
    scope = scope_of(c)
    token = c.tokens[c.pos]
    block = scope.blocks.get(token)
    if block is None:
        if token[0] != "%" or len(token) < 2:
            raise c.error(f"expected the name of a block, found {c.shown()}")
        key = c.local_key(token)
        block = scope.blocks.get(key)
        if block is None:
            block = scope.blocks[key] = BasicBlock(key[1:])
            scope.forward_blocks[key] = c.pos
    c.pos += 1
    return block


def start_block(c: Cursor, key: str | None, at: int) -> BasicBlock:
    """The block that begins here; without a key it takes the next number."""
    scope = scope_of(c)
    key = _numbered(c, scope, key, at)
    block = scope.blocks.get(key)
    if block is None:
        block = scope.blocks[key] = BasicBlock(key[1:])
    elif scope.forward_blocks.pop(key, None) is None:
        raise c.error(f"block {key} is defined twice", at=at)
    if key in scope.values:
        raise c.error(f"{key} is the name of a value already", at=at)
    block.function = scope.function
    scope.function.blocks.append(block)
    return block


def define_value(c: Cursor, key: str | None, value: Value, at: int) -> None:
    """Give `value` its name, and let earlier uses of the name refer to it."""
    scope = scope_of(c)
    if key is None or key[1] in "0123456789":
        key = _numbered(c, scope, key, at)
    if key in scope.values or key in scope.blocks:
        what = "a value" if key in scope.values else "a block"
        raise c.error(f"{key} is the name of {what} already", at=at)
    value.name = key[1:]
    scope.values[key] = value
    if scope.forward_values:
        forward = scope.forward_values.pop(key, None)
        if forward is not None:
            if forward.type != value.type:
                raise c.error(f"{key} has type {value.type}, but is used as {forward.type} before", at=at)
            forward.replace_all_uses(value)


def check_all_defined(c: Cursor) -> None:
    """Refuse names that were used and never defined."""
    scope = scope_of(c)
    for key, forward in scope.forward_values.items():
        raise c.error(f"{key} is not defined in this function", at=forward.position)
    for key, position in scope.forward_blocks.items():
        raise c.error(f"block {key} is not defined in this function", at=position)


def _numbered(c: Cursor, scope: FunctionScope, key: str | None, at: int) -> str:
    """The key, or the next number; numbers go up in the order of the text."""
    if key is None:
        key = f"%{scope.next_number}"
        scope.next_number += 1
    elif key[1:].isdecimal():
        number = int(key[1:])
        if number < scope.next_number:
            raise c.error(f"expected number %{scope.next_number} or a higher one", at=at)
        scope.next_number = number + 1
    return key
