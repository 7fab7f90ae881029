"""Transfer functions that yield one of their operands: select, min and max, abs, φ, freeze."""

from __future__ import annotations

from functools import reduce

from weft.analysis.integers.bounds import trailing_zeros
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.compare import icmp
from weft.analysis.shapes.lattice import Extents, join, weaken
from weft.analysis.shapes.shape import BOTTOM, Shape


def select(a: Application) -> Shape:
    """One arm in all lanes if the condition is uniform."""
    condition, then, otherwise = a.operands
    known = condition.constant(1)
    if known is not None:
        return then if known else otherwise
    if then == otherwise and then.constant(a.bits) is not None:
        return then
    return choose(a.extents, condition, then, otherwise)


def choose(extents: Extents, condition: Shape, then: Shape, otherwise: Shape) -> Shape:
    """The shape of a select, given the shape of its condition.

    Where the condition is uniform all lanes take the same arm: the join. Otherwise the result is unrelated
    along the dimensions in which the condition varies, and along the others has the stride that both arms have.
    A symbolic stride would have to be the same in either arm, of which nothing is known.
    """
    if condition.is_uniform:
        return join(then, otherwise)
    strides = tuple(
        s if c == 0 and s == t and isinstance(s, int) else None
        for c, s, t in zip(condition.strides, then.strides, otherwise.strides, strict=True)
    )
    return join(weaken(then, strides), weaken(otherwise, strides))


def phi(a: Application) -> Shape:
    """The join. Where lanes arrive along different edges, the engine has to say more than this."""
    return reduce(lambda x, y: join(x, y), a.operands, BOTTOM)


def minimum_or_maximum(a: Application) -> Shape:
    """umin, umax, smin, smax: the select over the comparison they stand for."""
    x, y = a.operands
    predicate = a.op[0] + ("lt" if a.op.endswith("min") else "gt")
    condition = icmp(Application(a.extents, "icmp", a.flags, 1, a.operands, a.facts, predicate, need=a.need))
    known = condition.constant(1)
    if known is not None:
        return x if known else y
    return choose(a.extents, condition, x, y)


def absolute(a: Application) -> Shape:
    """The value itself if it is not negative; else only trailing zeros carry over."""
    x = a.operands[0]
    bounds = a.range(0)
    if bounds is not None and bounds.lo >= 0:
        return x
    # A value and its negation have the same trailing zeros.
    known = min(x.lane_known_bits, trailing_zeros(x.residue))
    return a.result(tuple(0 if s == 0 else None for s in x.strides), 0, known)


def freeze(a: Application) -> Shape:
    """The same strides: the compiler chooses what a poison lane becomes, and chooses what fits.

    The base may be frozen poison itself, though, so nothing is known of it unless the engine passes
    ``noundef``: the operand is not poison.
    """
    (x,) = a.operands
    return x if "noundef" in a.flags else a.result(x.strides)
