"""Array expressions: ``a * 2 + b``, ``np.sqrt(x) < y``: one loop for the whole expression, without arrays between.

An operation on arrays gives a `Lazy` value, which knows how to compute an element from those of its operands. What
needs an array gets one (`materialized`); an assignment to elements (``b[:] = a * 2``) stores them where they belong.
Shapes broadcast as NumPy's do. Where the target overlaps an operand, in functions that may allocate, the elements are
computed first and stored afterwards; kernels, which may not, compute and store them one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import (
    array_type_of,
    data_of,
    element_type,
    extents_of,
    multiply,
    strides_of,
)
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align, require_writable
from weft.frontend.python.lowering.arrays.heap import NO_POINTER
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.arrays.shape_checks import broadcast, require_extents
from weft.frontend.python.lowering.arrays.whole_arrays import copy, for_each
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.sampling import sampling
from weft.frontend.python.overloads import strong
from weft.frontend.python.types import (
    Array,
    Scalar,
    array_type,
    pyint,
)
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.types import I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

Apply = Callable[..., Typed]

_PURE_MODULES = ("numpy", "math", "cmath", "operator")


class Lazy(Typed):
    """An array whose elements are computed when they are needed.

    Parameters
    ----------
    dtype
        The type of an element.
    extents
        Its extents.
    apply
        Computes an element from those of the operands.
    sources
        The operands: arrays, further lazy values, numbers.
    """

    __slots__ = ("apply", "extents", "sources")

    def __init__(self, dtype: Scalar, extents: list[Value], apply: Apply, sources: Sequence[Typed]) -> None:
        super().__init__(array_type(dtype, len(extents), "C"))
        self.apply = apply
        self.extents = extents
        self.sources = sources

    def settled(self, low: Lowering) -> Typed:
        """The array in memory."""
        return materialized(low, self)

    def leaves(self) -> list[Typed]:
        """The arrays that it is computed from, each once."""
        found: dict[int, Typed] = {}
        for source in self.sources:
            for leaf in source.leaves() if isinstance(source, Lazy) else [source]:
                if isinstance(leaf.type, Array):
                    found[id(leaf)] = leaf
        return list(found.values())


def is_array(value: Typed) -> bool:
    """Whether a value is an array, lazy or not, of at least one dimension."""
    return isinstance(value.type, Array)


def operands(low: Lowering, left: Typed, right: ast.expr) -> tuple[Typed, Typed]:
    """Two operands, the first one lowered before; a call in the second one sees what the first one has read."""
    if not is_pure(low, right):
        left = left.settled(low)
    return left, low.operand(right)


def is_pure(low: Lowering, node: ast.expr) -> bool:
    """Whether all calls in an expression are of functions such as ``np.sqrt``, which change no array."""
    from weft.frontend.python.lowering.globals_ import captured

    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            owner = child.func.value if isinstance(child.func, ast.Attribute) else None
            if not isinstance(owner, ast.Name) or low.scope.is_local(owner.id):
                return False
            if getattr(captured(low.source.function, owner.id), "__name__", "") not in _PURE_MODULES:
                return False
    return True


def combine(low: Lowering, apply: Apply, *values: Typed) -> Lazy:
    """The array of ``apply(low, a, b, ...)`` over all elements of the operands, of which at least one is an array.

    Raises
    ------
    TypingError
        An operand is neither array nor number, or there is no such operation on the elements.
    """
    for value in values:
        if not isinstance(value.type, (Array, Scalar)) or (
            isinstance(value.type, Array) and not isinstance(value.type.dtype, Scalar)
        ):
            raise TypingError(f"there is no operation on arrays and {value.type}", hint="write a loop")
    extents = broadcast(low, (_extents(low, value) for value in values if isinstance(value.type, Array)))
    return Lazy(element_type_of(low, apply, values), extents, apply, values)


def _extents(low: Lowering, value: Typed) -> list[Value]:
    return value.extents if isinstance(value, Lazy) else extents_of(low, value)


def element_type_of(low: Lowering, apply: Apply, values: Sequence[Typed]) -> Scalar:
    """The type of an element of what an operation gives, found by computing one where nothing runs."""
    with sampling(low):
        samples = [
            load_element(low, NO_POINTER, array_type_of(v).dtype, 1) if isinstance(v.type, Array) else v
            for v in values
        ]
        result = apply(low, *samples).type
    if not isinstance(result, Scalar):
        raise TypingError(f"elements of an array cannot be {result}")
    return strong(result)


def materialized(low: Lowering, value: Typed) -> Typed:
    """The value; of a lazy array one in memory.

    Raises
    ------
    UnsupportedError
        This is a kernel, which allocates nothing.
    """
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent

    if not isinstance(value, Lazy):
        return value
    shape = [extent(size) for size in value.extents]
    made = allocate(low, Arguments("an array expression", [], {}), shape, array_type_of(value).dtype)
    _compute(low, value, made)
    return made


def assign_elements(low: Lowering, target: Typed, value: Typed) -> None:
    """Store an array, lazy or not, to the elements of another one, to whose shape it broadcasts."""
    require_writable(array_type_of(target))
    lazy = value if isinstance(value, Lazy) else combine(low, lambda _, element: element, value)
    if len(lazy.extents) > array_type_of(target).ndim:
        raise TypingError(
            f"an array of {len(lazy.extents)} dimensions does not fit into one of {array_type_of(target).ndim}"
        )
    _require_shape(low, lazy, extents_of(low, target))
    clashes = _clashes(low, target, lazy)
    if clashes is None or low.stack[0].is_kernel:
        _compute(low, lazy, target)
        return
    through, directly, end = (low.new_block(f"elements.{part}") for part in ("through", "directly", "end"))
    low.branch_if(clashes, through, directly)
    low.start(through)
    copy(low, materialized(low, _stretched(low, lazy, target)), target)
    low.branch(end)
    low.start(directly)
    _compute(low, lazy, target)
    low.branch(end)
    low.start(end)


def _stretched(low: Lowering, lazy: Lazy, target: Typed) -> Lazy:
    """The same with the target's extents."""
    return Lazy(_dtype(lazy), extents_of(low, target), lazy.apply, lazy.sources)


def _dtype(lazy: Lazy) -> Scalar:
    dtype = array_type_of(lazy).dtype
    assert isinstance(dtype, Scalar)
    return dtype


def _require_shape(low: Lowering, lazy: Lazy, extents: list[Value]) -> None:
    """See that the values fit: each extent is the target's, or 1."""
    lead = len(extents) - len(lazy.extents)
    require_extents(low, lazy.extents[::-1], extents[lead:][::-1])


def _clashes(low: Lowering, target: Typed, lazy: Lazy) -> Value | None:
    """Whether the target overlaps an operand otherwise than element by element; None if it certainly does not."""
    found: Value | None = None
    b = low.builder
    reach: tuple[Value, Value] | None = None
    for leaf in lazy.leaves():
        is_target = low.known.are_same(leaf.parts, target.parts)
        if is_target and array_type_of(leaf).layout == array_type_of(target).layout:
            continue
        if low.known.are_apart(data_of(leaf), data_of(target)):
            continue
        reach = reach or _reach(low, target)
        (first, end), (low_end, high_end) = reach, _reach(low, leaf)
        apart = b.binary("or", b.icmp("ule", end, low_end), b.icmp("ule", high_end, first))
        overlap = b.icmp("eq", apart, const_int(0, apart.type))
        if array_type_of(leaf).ndim == array_type_of(target).ndim:
            same = b.icmp("eq", data_of(leaf), data_of(target))
            for mine, other in zip(
                (*extents_of(low, leaf), *strides_of(low, leaf)),
                (*extents_of(low, target), *strides_of(low, target)),
                strict=True,
            ):
                same = b.binary("and", same, b.icmp("eq", mine, other))
            overlap = b.binary("and", overlap, b.icmp("eq", same, const_int(0, same.type)))
        found = overlap if found is None else b.binary("or", found, overlap)
    return found


def _reach(low: Lowering, array: Typed) -> tuple[Value, Value]:
    """The addresses of the first byte of an array and of that behind its last one."""
    b, zero = low.builder, const_int(0)
    first = end = b.cast("ptrtoint", data_of(array), I64)
    smin, smax = (low.unit.llvm(f"llvm.{name}.i64", I64, I64, I64) for name in ("smin", "smax"))
    for extent, stride in zip(extents_of(low, array), strides_of(low, array), strict=True):
        span = b.binary("mul", b.binary("sub", extent, const_int(1)), stride)
        first = b.binary("add", first, b.call(smin, (span, zero)))
        end = b.binary("add", end, b.call(smax, (span, zero)))
    return first, b.binary("add", end, const_int(array_type_of(array).dtype.size))


def _compute(low: Lowering, lazy: Lazy, target: Typed) -> None:
    """Compute all elements and store them to `target`, in one loop where all arrays lie alike."""
    type = array_type_of(target)
    extents = extents_of(low, target)
    same_shape = alike(low, lazy, extents)
    flat = all(array_type_of(a).layout == "C" for a in (*lazy.leaves(), target)) and type.ndim > 0

    def store_at(indices: list[Typed], same: bool) -> None:
        value = _element(low, lazy, indices, extents, same)
        store_element(low, value, element_address(low, target, indices), type.dtype, element_align(type))

    def store_flat(indices: list[Typed]) -> None:
        number = indices[0].value
        value = _flat_element(low, lazy, number)
        place = low.builder.gep(element_type(type.dtype), data_of(target), (number,), ("inbounds",))
        store_element(low, value, place, type.dtype, element_align(type))

    def run_alike() -> None:
        if flat:
            total = reduce(lambda a, b: multiply(low, a, b, ("nuw", "nsw")), extents)
            for_each(low, [total], store_flat)
        else:
            for_each(low, extents, lambda indices: store_at(indices, True))

    if same_shape is None:
        run_alike()
        return
    if isinstance(same_shape, ConstInt):
        for_each(low, extents, lambda indices: store_at(indices, False))
        return
    same, other, end = (low.new_block(f"alike.{part}") for part in ("same", "other", "end"))
    low.branch_if(same_shape, same, other)
    low.start(same)
    run_alike()
    low.branch(end)
    low.start(other)
    for_each(low, extents, lambda indices: store_at(indices, False))
    low.branch(end)
    low.start(end)


def alike(low: Lowering, lazy: Lazy, extents: list[Value]) -> Value | None:
    """Whether all arrays have these extents: None for certainly, a constant for certainly not."""
    found: Value | None = None
    for leaf in lazy.leaves():
        own = extents_of(low, leaf)
        if len(own) != len(extents):
            return const_int(0)
        for mine, wanted in zip(own, extents, strict=True):
            if low.known.are_equal(mine, wanted):
                continue
            if isinstance(mine, ConstInt) and isinstance(wanted, ConstInt):
                if mine.signed != wanted.signed:
                    return const_int(0)
                continue
            if isinstance(mine, ConstInt) and mine.signed == 1:
                # A new axis: what stretches it is right for any extent, so one loop is enough.
                return const_int(0)
            equal = low.builder.icmp("eq", mine, wanted)
            found = equal if found is None else low.builder.binary("and", found, equal)
    return found


def _element(low: Lowering, value: Typed, indices: list[Typed], extents: list[Value], same: bool) -> Typed:
    """The element of an operand at the indices of the result."""
    if isinstance(value, Lazy):
        parts = [_element(low, source, indices, extents, same) for source in value.sources]
        return value.apply(low, *parts)
    if not isinstance(value.type, Array):
        return value
    own = extents_of(low, value)
    lead = len(indices) - len(own)
    places = [
        index if same or low.known.are_equal(extent, whole) else stretched_index(low, index, extent)
        for index, extent, whole in zip(indices[lead:], own, extents[lead:], strict=True)
    ]
    type = value.type
    return load_element(low, element_address(low, value, places), type.dtype, element_align(type))


def stretched_index(low: Lowering, index: Typed, extent: Value) -> Typed:
    """The index along a dimension whose one element counts for all if there is but one."""
    if isinstance(extent, ConstInt):
        return literal(0) if extent.signed == 1 else index
    unit = low.builder.icmp("eq", extent, const_int(1))
    return Typed(pyint, (low.builder.select(unit, const_int(0), index.value),), low=0)


def _flat_element(low: Lowering, value: Typed, number: Value) -> Typed:
    """The element of an operand by its number in C order."""
    if isinstance(value, Lazy):
        return value.apply(low, *(_flat_element(low, source, number) for source in value.sources))
    if not isinstance(value.type, Array):
        return value
    place = low.builder.gep(element_type(value.type.dtype), data_of(value), (number,), ("inbounds",))
    return load_element(low, place, value.type.dtype, element_align(value.type))
