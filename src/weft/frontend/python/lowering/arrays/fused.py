"""Reductions of array expressions, ``(a * b).sum()``: elements are computed where they are added, in no array between.

The function that reduces a row (`weft.frontend.python.device_arrays`) gets a value of type `Computed` in its place: a
tuple of how many elements there are, and of the arrays and numbers that they are computed from. Its ``size`` and its
elements are what the function asks for. The order of a sum is that of the same sum over an array.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from weft.frontend.python.components import components
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, data_of, element_type, extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.elementwise import Apply, Lazy, alike, stretched_index
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.reshaped import product_of
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.lowering.numbers.casts import cast, convert, to_int64
from weft.frontend.python.types import Array, Computed, KernelType, Scalar, pyint
from weft.ir.constants import ConstInt
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

Tree = int | Typed | tuple[Apply, tuple[Any, ...]]
"""A leaf by its number, a literal, or what is applied to trees."""

_PLAIN = (str, int, type(None), type, ast.AST, KernelType, np.ufunc, type(np.where), CudaName)


class Expression(Struct, frozen=True):
    """How the elements of a `Computed` value are made of its leaves.

    Parameters
    ----------
    tree
        What is computed.
    flat
        Whether all arrays are in C order with the same extents, so that the number of an element says where it is.
    stretched
        Whether an array of one element counts for all elements.
    """

    tree: Tree
    flat: bool
    stretched: bool


def reduced_directly(
    low: Lowering, lazy: Lazy, key: tuple[object, ...], reduce: Callable[[Typed], Typed]
) -> Typed | None:
    """What `reduce` makes of the elements of an array expression; None where they have to be in an array.

    Parameters
    ----------
    low, lazy
        The expression.
    key
        Identifies the call in the source.
    reduce
        Emits the call on a row. Where it depends on extents how elements are found, it is emitted for both ways.
    """
    leaves: list[Typed] = []
    tree = _tree(lazy, leaves)
    if tree is None:
        return None
    in_order = all(array_type_of(leaf).layout == "C" for leaf in lazy.leaves())
    if len(lazy.extents) != 1 and not in_order:
        return None
    same = alike(low, lazy, lazy.extents)
    certainly_not = isinstance(same, ConstInt)
    if len(lazy.extents) != 1 and same is not None:
        return None

    def result(flat: bool, stretched: bool) -> Typed:
        return reduce(_computed(low, lazy, Expression(tree, flat, stretched), leaves, key))

    if same is None:
        return result(in_order, False)
    if certainly_not:
        return result(False, True)
    return _either(low, same, lambda: result(in_order, False), lambda: result(False, True))


def _either(low: Lowering, test: Value, one: Callable[[], Typed], other: Callable[[], Typed]) -> Typed:
    """The value of one or the other way, which have one type."""
    blocks = [low.new_block(f"reduced.{name}") for name in ("alike", "other", "end")]
    low.branch_if(test, *blocks[:2])
    slots: list[Value] = []
    type: KernelType = pyint
    for block, way in zip(blocks, (one, other), strict=False):
        low.start(block)
        value = way()
        type = value.type
        parts = convert(low, value, type)
        slots = slots or [low.alloca(part.type, "reduced") for part in parts]
        for part, slot in zip(parts, slots, strict=True):
            low.builder.store(part, slot)
        low.branch(blocks[2])
    low.start(blocks[2])
    loads = [low.builder.load(c.type, slot) for c, slot in zip(components(type), slots, strict=True)]
    return Typed(type, tuple(loads))


def _tree(value: Typed, leaves: list[Typed]) -> Tree | None:
    """The tree of an expression, whose leaves are added to the list; None where it holds on to other values."""
    if isinstance(value, Lazy):
        if not _is_free(value.apply):
            return None
        parts = tuple(_tree(source, leaves) for source in value.sources)
        return None if None in parts else (value.apply, parts)
    if value.is_literal:
        return value
    for number, leaf in enumerate(leaves):
        if leaf is value:
            return number
    leaves.append(value)
    return len(leaves) - 1


def _is_free(function: Any) -> bool:
    """Whether a function knows nothing of the code around the expression, so that it can emit other code."""
    return all(_is_plain(cell.cell_contents) for cell in getattr(function, "__closure__", None) or ())


def _is_plain(held: Any) -> bool:
    if isinstance(held, tuple):
        return all(map(_is_plain, held))
    return _is_free(held) if isinstance(held, FunctionType) else isinstance(held, _PLAIN)


def _computed(
    low: Lowering, lazy: Lazy, expression: Expression, leaves: list[Typed], key: tuple[object, ...]
) -> Typed:
    size = Typed(pyint, (product_of(low, lazy.extents),), low=0)
    made = TupleValue((size, *leaves))
    dtype = array_type_of(lazy).dtype
    assert isinstance(dtype, Scalar)
    # A walk over the same source finds the type that the walk before has made.
    whole = (key, made.type, dtype, expression.flat, expression.stretched, _shape(expression.tree))
    number = low.unit.expression_numbers.setdefault(whole, len(low.unit.expression_numbers))
    made.type = Computed(made.type.items, dtype, number)  # type: ignore[attr-defined]
    low.unit.expressions[made.type] = expression
    return made


def _shape(tree: Tree) -> object:
    """What tells a tree from another one of the same place in the source: which leaf is where, and literals."""
    if isinstance(tree, Typed):
        return type(tree.literal), repr(tree.literal)
    return tuple(map(_shape, tree[1])) if isinstance(tree, tuple) else tree


def size_of(value: Typed) -> Typed:
    """How many elements there are."""
    return items_of(value)[0]


def element_of(low: Lowering, value: Typed, index: Typed) -> Typed:
    """An element of a row that is computed."""
    type = value.type
    assert isinstance(type, Computed)
    expression = low.unit.expressions[type]
    _, *leaves = items_of(value)
    index = Typed(pyint, (to_int64(low, index, "an index"),), low=0)

    def at(tree: Tree) -> Typed:
        if isinstance(tree, tuple):
            return tree[0](low, *map(at, tree[1]))
        if isinstance(tree, Typed):
            return tree
        leaf = leaves[tree]
        if not isinstance(leaf.type, Array):
            return leaf
        return _of_leaf(low, leaf, index, expression)

    return cast(low, at(expression.tree), type.dtype)


def _of_leaf(low: Lowering, leaf: Typed, index: Typed, expression: Expression) -> Typed:
    type = array_type_of(leaf)
    if expression.flat:
        place = low.builder.gep(element_type(type.dtype), data_of(leaf), (index.value,), ("inbounds",))
        return load_element(low, place, type.dtype, element_align(type))
    (extent,) = extents_of(low, leaf)
    at = stretched_index(low, index, extent) if expression.stretched else index
    return load_element(low, element_address(low, leaf, [at]), type.dtype, element_align(type))
