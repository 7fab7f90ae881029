"""Counted loops, two arms of which one runs, and the lesser or greater of two numbers, in IR under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import I32, I64, Type, pointer


def variable(function: Function, type: Type) -> Instruction:
    """A place on the stack for a number that lives through loops."""
    one = ConstInt(I32, 1)
    alloca = Instruction("alloca", pointer(), (one,), attrs={"allocated_type": type})
    return function.entry.insert(0, alloca)


@contextmanager
def loop_below(
    builder: Builder, function: Function, start: Value, stop: Value, name: str
) -> Iterator[tuple[Instruction, Callable[[Value], None]]]:
    """Build a loop that goes on from `start` while its counter is below `stop`, by steps that its body computes.

    Yields the counter, with the builder in the body, and what the body calls once with the counter's next value. The
    body may add blocks; where the builder stands when the context ends becomes the latch. Afterwards the builder stands
    behind the loop.
    """
    before = builder.block
    assert before is not None
    header, body, done = (function.add_block(f"{name}.{part}") for part in ("header", "body", "done"))
    builder.br(header)
    builder.at_end(header)
    counter = builder.phi(I64, name)
    counter.add_incoming(start, before)
    builder.cond_br(builder.icmp("slt", counter, stop), body, done)
    builder.at_end(body)
    following: list[Value] = []
    yield counter, following.append
    (value,) = following
    assert builder.block is not None
    counter.add_incoming(value, builder.block)
    builder.br(header)
    builder.at_end(done)


@contextmanager
def counted_loop(
    builder: Builder, function: Function, start: Value, stop: Value, name: str, step: int = 1
) -> Iterator[Instruction]:
    """Build ``for counter in range(start, stop, step)``, as `loop_below` does; yields the counter."""
    with loop_below(builder, function, start, stop, name) as (counter, go_on):
        yield counter
        go_on(builder.binary("add", counter, ConstInt(I64, step), ("nuw", "nsw")))


@contextmanager
def two_arms(builder: Builder, function: Function, condition: Value) -> Iterator[Callable[[], None]]:
    """Build what runs where a condition holds; behind a call of what this yields, what runs where it does not.

    Both may add blocks. Afterwards the builder stands where they meet.
    """
    then, other, behind = (function.add_block(name) for name in ("arm", "otherwise", "behind"))
    builder.cond_br(condition, then, other)
    builder.at_end(then)

    def otherwise() -> None:
        builder.br(behind)
        builder.at_end(other)

    yield otherwise
    builder.br(behind)
    builder.at_end(behind)


def least(builder: Builder, a: Value, b: Value) -> Instruction:
    """The lesser of two numbers with a sign."""
    return builder.select(builder.icmp("slt", a, b), a, b)


def most(builder: Builder, a: Value, b: Value) -> Instruction:
    """The greater of two numbers with a sign."""
    return builder.select(builder.icmp("sgt", a, b), a, b)
