"""Frames: who owns the arrays that a function allocates, and when they are freed (`weft.ir.heap`).

A function gets a frame when it first allocates, or calls one that does. At the end of each iteration of a loop that
allocated something, what no variable leads into any more is freed: temporaries of expressions do not outlive a
statement, and a loop is one. What a loop itself runs over counts as a variable. At the return all is freed but what
the result leads into, which goes to the caller's frame.

When there is an error (a negative extent, no memory) the function ends at once, and so do its callers. Iterations
of a `prange` do not end it: the function ends behind the loop. Where iterations run in order, those that are left do
nothing: variables may lack what the failed one was to set.

In a kernel nothing is allocated, and an exception, which nobody could take, ends the thread: the frame of each function
that may raise, or calls one that may, is then no more than a word that is 1 when that has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from weft.diag.errors import UnsupportedError
from weft.frontend.python.components import Component, components
from weft.frontend.python.lowering.calls.typed import Typed, items_of
from weft.frontend.python.types import Tuple
from weft.ir import heap
from weft.ir.block import BasicBlock
from weft.ir.builder import Builder, const_int
from weft.ir.constants import Constant, ConstFloat, ConstInt, ConstNull
from weft.ir.instruction import Instruction
from weft.ir.types import I64, PTR, FloatType, IntType, Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.diag.source import SourceSpan
    from weft.frontend.python.lowering.context import Lowering

NO_POINTER = ConstNull(PTR)


def zero(type: Type) -> Constant:
    """Zero of a type."""
    if isinstance(type, FloatType):
        return ConstFloat.of(type, 0.0)
    return ConstInt(type, 0) if isinstance(type, IntType) else ConstNull(type)


class _Sweep(Struct, frozen=True):
    """The end of an iteration, or of an expression.

    Blocks younger than the mark go unless variables, or `held`, lead into them.
    """

    call: Instruction
    mark: Value
    held: tuple[Value, ...]


class Frame:
    """The frame of the function being lowered.

    Attributes
    ----------
    value
        Its address; None while nothing has been allocated.
    count
        How many places in the source seen so far allocate.
    held
        Pointers that loops being lowered run over.
    failing
        Where to go on an error: of each parallel loop around the code the end of its body, innermost last.
    failed
        The block that ends the function.
    """

    __slots__ = ("count", "failed", "failing", "held", "sweeps", "value")

    def __init__(self) -> None:
        self.value: Value | None = None
        self.count = 0
        self.held: list[Value] = []
        self.failing: list[BasicBlock] = []
        self.failed: BasicBlock | None = None
        self.sweeps: list[_Sweep] = []

    def use(self, low: Lowering) -> Value:
        """The frame's address, at a place that allocates."""
        if low.stack[0].is_kernel:
            raise UnsupportedError(
                "a kernel cannot allocate arrays",
                hint="use cuda.local.array for scratch memory of a thread, or pass an array",
            )
        self.count += 1
        if self.value is None:
            self.value = low.alloca(heap.FRAME, "frame", align=8)
            low.entry_builder.call(heap.declare(low.unit.module, "enter"), (self.value,))
            self.failed = low.new_block("failed")
        return self.value

    def of_errors(self, low: Lowering) -> Value:
        """The frame's address, at a place that may tell an error."""
        if not low.stack[0].is_kernel:
            return self.use(low)
        if self.value is None:
            self.value = low.alloca(I64, "raised", align=8)
            low.entry_builder.store(const_int(0), self.value)
            self.failed = low.new_block("failed")
        return self.value

    def fail_if(self, low: Lowering, condition: Value, error: int | None) -> None:
        """Leave on an error: the one told, or one that the frame has already."""
        assert self.value is not None and self.failed is not None
        target = self.failing[-1] if self.failing else self.failed
        following = low.new_block("fine")
        if error is None:
            low.branch_if(condition, target, following)
        else:
            raising = low.new_block("error")
            low.branch_if(condition, raising, following)
            low.start(raising)
            low.builder.call(heap.declare(low.unit.module, "fail"), (self.value, const_int(error)))
            low.branch(target)
        low.start(following)

    def fail(self, low: Lowering, error: int) -> None:
        """Leave; control does not go on."""
        frame = self.of_errors(low)
        assert self.failed is not None
        if low.stack[0].is_kernel:
            low.builder.store(const_int(1), frame)
        else:
            low.builder.call(heap.declare(low.unit.module, "fail"), (frame, const_int(error)))
        low.branch(self.failing[-1] if self.failing else self.failed)

    def fail_if_called_failed(self, low: Lowering) -> None:
        """Leave when what was called has told an error."""
        self.fail_if(low, has_error(low, low.builder, self.value), None)


def has_error(low: Lowering, builder: Builder, frame: Value | None) -> Value:
    """Whether an error has been told to the frame."""
    assert frame is not None
    if low.stack[0].is_kernel:
        error: Value = builder.load(I64, frame)
    else:
        error = builder.call(heap.declare(low.unit.module, "error"), (frame,))
    return builder.icmp("ne", error, const_int(0))


def error_code(low: Lowering, kind: str, message: str, span: SourceSpan) -> int:
    """The number by which compiled code tells an error: its place in `Unit.errors`, from 1."""
    return low.unit.errors.setdefault((kind, message, span), len(low.unit.errors) + 1)


class LoopFrame:
    """What a loop does about the heap.

    Parameters
    ----------
    low
        Lowers the loop.
    before
        The block that goes to the loop.
    """

    __slots__ = ("_before", "_count")

    def __init__(self, low: Lowering, before: BasicBlock | None) -> None:
        self._before = before
        self._count = low.frame.count

    def allocates(self, low: Lowering) -> bool:
        """Whether something in the loop, lowered so far, does."""
        return low.frame.count > self._count

    def end_iteration(self, low: Lowering) -> None:
        """Free what is not needed any more."""
        frame = low.frame.value
        if not self.allocates(low) or low.is_dead or self._before is None:
            return
        assert frame is not None
        at = Builder(before=self._before.terminator)
        mark = at.call(heap.declare(low.unit.module, "mark"), (frame,))
        call = low.builder.call(heap.declare(low.unit.module, "sweep"), (frame, mark))
        low.frame.sweeps.append(_Sweep(call, mark, tuple(low.frame.held)))

    def skip_after_error(
        self, low: Lowering, head: BasicBlock, body: BasicBlock, following: BasicBlock
    ) -> None:
        """Let an iteration of a parallel loop do nothing when there has been an error."""
        if not self.allocates(low):
            return
        check = BasicBlock("for.go", low.function)
        low.function.blocks.insert(low.function.blocks.index(body), check)
        head.replace_successor(body, check)
        at = Builder(check)
        at.loc = head.terminator.loc
        at.cond_br(has_error(low, at, low.frame.value), following, body)


@contextmanager
def holding(low: Lowering, values: list[Typed]) -> Iterator[None]:
    """Lower a loop that runs over values."""
    pointers = [pointer for value in values for pointer in pointers_of(value)]
    low.frame.held += pointers
    yield
    del low.frame.held[len(low.frame.held) - len(pointers) :]


def without_temporaries(low: Lowering, make: Callable[[], Typed]) -> Typed:
    """Lower an expression, and free the arrays behind it that it has made for itself.

    What comes next may get their memory: new pages take longer than to multiply what is in them.
    """
    if low.stack[0].is_kernel or low.frame.failing:
        return make()
    frame = low.frame.use(low)
    mark = low.builder.call(heap.declare(low.unit.module, "mark"), (frame,))
    made = make()
    call = low.builder.call(heap.declare(low.unit.module, "sweep"), (frame, mark))
    low.frame.sweeps.append(_Sweep(call, mark, (*low.frame.held, *pointers_of(made))))
    return made


def is_pointer(component: Component) -> bool:
    """Whether a component of a value leads into memory."""
    return component.role in ("data", "record") and component.type == PTR


def pointers_of(value: Typed) -> list[Value]:
    """The components of a value that lead into memory."""
    if isinstance(value.type, Tuple):
        return [pointer for item in items_of(value) for pointer in pointers_of(item)]
    if not value.parts:
        return []
    pairs = zip(components(value.type), value.parts, strict=True)
    return [part for component, part in pairs if is_pointer(component)]


def keep_variables(low: Lowering) -> None:
    """Tell each sweep of the function what its variables lead into."""
    if not low.frame.sweeps:
        return
    assert low.frame.value is not None
    slots = low.variables.pointer_slots()
    for slot in slots:
        low.entry_builder.store(NO_POINTER, slot)
    keep = heap.declare(low.unit.module, "keep")
    for sweep in low.frame.sweeps:
        at = Builder(before=sweep.call)
        at.loc = sweep.call.loc
        for pointer in [*sweep.held, *(at.load(PTR, slot) for slot in slots)]:
            at.call(keep, (low.frame.value, sweep.mark, pointer))


def leave(low: Lowering, parent: Value, result: Typed, failed: bool = False) -> None:
    """Free everything but what the result leads into, which goes to the caller's frame; tell the caller of errors."""
    assert low.frame.value is not None
    if low.stack[0].is_kernel:
        if failed:
            low.builder.store(const_int(1), parent)
        return
    for pointer in pointers_of(result):
        low.builder.call(heap.declare(low.unit.module, "keep"), (low.frame.value, NO_POINTER, pointer))
    low.builder.call(heap.declare(low.unit.module, "leave"), (low.frame.value, parent))
