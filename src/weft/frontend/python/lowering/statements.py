"""Statements other than loops."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of
from weft.frontend.python.lowering.arrays.arrays import element_align, require_writable, store_item, target_of
from weft.frontend.python.lowering.arrays.elementwise import assign_elements, combine
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.arrays.records import field_name, record_field, store_field
from weft.frontend.python.lowering.arrays.tiled import store_tiled, tiled_target
from weft.frontend.python.lowering.arrays.unpacking import rows_of
from weft.frontend.python.lowering.arrays.whole_arrays import fill
from weft.frontend.python.lowering.attributes import array_attribute
from weft.frontend.python.lowering.calls.typed import NONE, Typed, items_of
from weft.frontend.python.lowering.checks import ASSERTION, check, note
from weft.frontend.python.lowering.context import statement
from weft.frontend.python.lowering.facts import facts_for
from weft.frontend.python.lowering.numbers.arithmetic import SYMBOLS, binary
from weft.frontend.python.lowering.numbers.comparisons import condition, negation, truth
from weft.frontend.python.lowering.numbers.conditions import jump
from weft.frontend.python.lowering.variables import RESULT
from weft.frontend.python.types import Array, NoneType, Record, Static, Tiled, Tuple
from weft.frontend.python.wording import described

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@statement(ast.Pass)
def _lower_pass(low: Lowering, node: ast.Pass) -> None:
    del low, node


@statement(ast.Expr)
def _lower_expression_statement(low: Lowering, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        low.expr(node.value)


@statement(ast.Assign)
def _lower_assign(low: Lowering, node: ast.Assign) -> None:
    whole = len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript)
    value = low.operand(node.value) if whole else low.expr(node.value)
    for target in node.targets:
        low.at(node)
        assign(low, target, value)


@statement(ast.AnnAssign)
def _lower_annotated(low: Lowering, node: ast.AnnAssign) -> None:
    """The annotation is for the reader, as in Python."""
    if node.value is not None:
        value = low.expr(node.value)
        low.at(node)
        assign(low, node.target, value)


def assign(low: Lowering, target: ast.expr, value: Typed) -> None:
    """Assign a value to a name, element, field, or tuple of targets."""
    if isinstance(target, ast.Name):
        low.variables.store(low, target.id, value, low.span(target))
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(low, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(low, target, value)
    elif isinstance(target, ast.Attribute):
        owner = low.expr(target.value)
        if isinstance(owner.type, Array):
            _assign_part(low, target, owner, value)
            return
        if not isinstance(owner.type, Record):
            raise TypingError(f"attributes of {owner.type} cannot be assigned to").at(low.span(target))
        _require_writable(low, target.value)
        low.at(target)
        store_field(low, owner, target.attr, value)
    else:
        raise UnsupportedError("this target of an assignment is not supported in kernels").at(
            low.span(target)
        )


def _part(low: Lowering, target: ast.Attribute, array: Typed) -> Typed:
    """The part of each element that an attribute names which is assigned to."""
    low.at(target)
    part = array_attribute(low, array, target.attr)
    if not isinstance(part.type, Array):
        raise TypingError(f"'{target.attr}' of {array.type} cannot be assigned to").at(low.span(target))
    return part


def _assign_part(low: Lowering, target: ast.Attribute, array: Typed, value: Typed) -> None:
    """``a.real = x``, ``a.field = x``: to that part of each element."""
    part = _part(low, target, array)
    if isinstance(value.type, Array):
        assign_elements(low, part, value)
    else:
        require_writable(array_type_of(part))
        fill(low, part, value)


def _unpack(low: Lowering, target: ast.Tuple | ast.List, value: Typed) -> None:
    if any(isinstance(element, ast.Starred) for element in target.elts):
        raise UnsupportedError("a starred target is not supported in kernels").at(low.span(target))
    if isinstance(value.type, Array):
        low.at(target)
        for element, item in zip(target.elts, rows_of(low, value, len(target.elts)), strict=True):
            assign(low, element, item)
        return
    if not isinstance(value.type, Tuple):
        raise TypingError(f"{value.type} cannot be unpacked").at(low.span(target))
    items = items_of(value)
    if len(items) != len(target.elts):
        message = f"a tuple of {len(items)} cannot be unpacked into {len(target.elts)} targets"
        raise TypingError(message).at(low.span(target))
    for element, item in zip(target.elts, items, strict=True):
        assign(low, element, item)


def _assign_item(low: Lowering, target: ast.Subscript, value: Typed) -> None:
    owner = low.expr(target.value)
    if isinstance(owner.type, Array):
        store_item(low, target, owner, value)
    elif isinstance(owner.type, Tiled):
        store_tiled(low, target, owner, value)
    elif isinstance(owner.type, Record):
        value = value.settled(low)
        _require_writable(low, target.value)
        store_field(low, owner, _field_name(low, owner, target), value)
    else:
        what = "a tuple cannot be changed" if isinstance(owner.type, Tuple) else f"{owner.type} has no items"
        raise TypingError(what, hint="use cuda.local.array").at(low.span(target))


def _field_name(low: Lowering, owner: Typed, target: ast.Subscript) -> str:
    try:
        return field_name(owner, low.expr(target.slice))
    except TypingError as error:
        raise error.at(low.span(target.slice)) from None


def _require_writable(low: Lowering, owner: ast.expr) -> None:
    """Refuse to write to a field of an element of a read-only array (as far as that is written in one place)."""
    node = owner
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
        if isinstance(node, ast.Name) and low.scope.is_local(node.id):
            info = low.variables.bound_value(node.id)
            if info is not None and isinstance(info.type, (Array, Tiled)):
                require_writable(info.type)


@statement(ast.AugAssign)
def _lower_augmented(low: Lowering, node: ast.AugAssign) -> None:
    """The target's address is computed once."""
    symbol, target = SYMBOLS[type(node.op)], node.target
    if isinstance(target, ast.Name):
        old = low.variables.load(low, target.id)
        if isinstance(old.type, Array):
            _change_elements(low, node, symbol, old)
            return
        value = low.expr(node.value)
        low.at(node)
        low.variables.store(low, target.id, binary(low, symbol, old, value), low.span(target))
        return
    owner = low.expr(target.value)
    if isinstance(owner.type, (Array, Tiled)) and isinstance(target, ast.Subscript):
        element, align = owner.type.dtype, element_align(owner.type)
        in_blocks = isinstance(owner.type, Tiled)
        address = tiled_target(low, target, owner) if in_blocks else target_of(low, target, owner)
        if isinstance(address, Typed):
            _change_elements(low, node, symbol, address)
            return
        old = load_element(low, address, element, align)
        value = low.expr(node.value)
        low.at(node)
        store_element(low, binary(low, symbol, old, value), address, element, align)
    elif isinstance(owner.type, Array) and isinstance(target, ast.Attribute):
        _change_elements(low, node, symbol, _part(low, target, owner))
    elif isinstance(owner.type, Record):
        _require_writable(low, target.value)
        name = target.attr if isinstance(target, ast.Attribute) else _field_name(low, owner, target)
        old = record_field(low, owner, name)
        value = low.expr(node.value)
        low.at(node)
        store_field(low, owner, name, binary(low, symbol, old, value))
    else:
        raise TypingError(f"{owner.type} cannot be changed in place").at(low.span(target))


def _change_elements(low: Lowering, node: ast.AugAssign, symbol: str, array: Typed) -> None:
    """``array += value`` changes the array, as in NumPy."""
    value = low.operand(node.value)
    low.at(node)
    assign_elements(low, array, combine(low, lambda low, x, y: binary(low, symbol, x, y), array, value))


@statement(ast.If)
def _lower_if(low: Lowering, node: ast.If) -> None:
    then, otherwise, end = low.new_block("if.then"), low.new_block("if.else"), low.new_block("if.end")
    jump(low, node.test, then, otherwise if node.orelse else end)
    ways = low.instance.ways.setdefault((node.lineno, node.col_offset), set())
    ways |= {
        holds for holds, block in ((True, then), (False, otherwise if node.orelse else end)) if block.users
    }
    low.start(then)
    if not low.is_dead:
        with low.knowing(facts_for(low, node.test, True, node.body)):
            low.body(node.body)
        low.branch(end)
    if node.orelse:
        low.start(otherwise)
        if not low.is_dead:
            with low.knowing(facts_for(low, node.test, False, node.orelse)):
                low.body(node.orelse)
            low.branch(end)
    low.start(end)


@statement(ast.Assert)
def _lower_assert(low: Lowering, node: ast.Assert) -> None:
    """Checked with ``debug=True`` only, as by numba.cuda."""
    message = node.msg.value if isinstance(node.msg, ast.Constant) else ""
    if low.unit.options.debug:
        value = truth(low, low.expr(node.test))
        low.at(node)
        check(low, ASSERTION, condition(low, negation(low, value)), str(message))


@statement(ast.Return)
def _lower_return(low: Lowering, node: ast.Return) -> None:
    try:
        if node.value is None:
            _store_result(low, NONE, node)
        else:
            lower_return_value(low, node.value)
    finally:
        # Also when the value's type is not known yet: control does not go on.
        low.branch(low.exit)


def lower_end(low: Lowering) -> None:
    """Control reaches the end of the function: it returns None."""
    if not low.is_dead and low.waiting is None:
        _store_result(low, NONE, low.source.node)
        if low.instance.is_kernel:
            note(low, "weft.reached.end")
    low.branch(low.exit)


def lower_return_value(low: Lowering, node: ast.expr) -> None:
    """Let the function return the value of an expression."""
    value = low.expr(node)
    low.at(node)
    _store_result(low, value, node)


def _store_result(low: Lowering, value: Typed, node: ast.AST) -> None:
    if low.instance.is_kernel:
        if not isinstance(value.type, NoneType):
            raise TypingError(
                f"a kernel cannot return a value; this one returns {value.type}",
                low.span(node),
                "write the value to an array argument",
            )
        return
    if len(low.stack) == 1 and isinstance(value.type, Static):
        raise UnsupportedError(
            f"a compiled function cannot return {described(value.type.value)}",
            low.span(node),
            "return numbers, arrays, and tuples of these",
        )
    low.variables.store(low, RESULT, value, low.span(node))
