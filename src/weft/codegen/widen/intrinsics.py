"""LLVM's intrinsics: those that have a vector form, those that pass a value on, and hints."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.codegen.widen.context import Widening
from weft.codegen.widen.masked import mangled
from weft.codegen.widen.saturating import widen_saturating
from weft.ir import Instruction


class _Form(Struct, frozen=True):
    """The vector form of an intrinsic.

    Parameters
    ----------
    scalar
        The arguments that are one for all lanes.
    overloads
        What the name lists types of: arguments by number, the result by None.
    """

    scalar: tuple[int, ...] = ()
    overloads: tuple[int | None, ...] = (None,)


_FORMS: Mapping[str, _Form] = {
    **dict.fromkeys(
        (
            "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "canonicalize",
            "copysign", "minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "fma", "fmuladd",
            "ctpop", "bswap", "bitreverse", "smin", "smax", "umin", "umax", "fshl", "fshr",
            "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat",
        ),
        _Form(),
    ),
    **dict.fromkeys(("abs", "ctlz", "cttz"), _Form(scalar=(1,))),
    **dict.fromkeys(
        ("fptosi.sat", "fptoui.sat", "scmp", "ucmp", "lrint", "llrint", "lround", "llround"),
        _Form(overloads=(None, 0)),
    ),
    **dict.fromkeys(("ldexp", "ptrmask"), _Form(overloads=(None, 1))),
    "powi": _Form(scalar=(1,), overloads=(None, 1)),
    "is.fpclass": _Form(scalar=(1,), overloads=(0,)),
}  # fmt: skip

_PASSED_ON = frozenset(
    {"expect", "expect.with.probability", "launder.invariant.group", "strip.invariant.group", "ssa.copy"}
)
"""Intrinsics whose result is their first argument."""

_HINTS = (
    "llvm.assume", "llvm.lifetime.start", "llvm.lifetime.end", "llvm.experimental.noalias.scope.decl",
    "llvm.donothing", "llvm.sideeffect", "llvm.prefetch", "llvm.fake.use", "llvm.pseudoprobe", "llvm.var.annotation",
)  # fmt: skip
"""What says something of active lanes only, or of one thread's object: widening leaves it out."""


def is_hint(name: str) -> bool:
    """Whether the intrinsic of this name can be left out."""
    return name.startswith(_HINTS)


def has_form(w: Widening, call: Instruction) -> bool:
    """Whether a call is one of an LLVM intrinsic that has a vector form, for these arguments."""
    form = _FORMS.get(_base_name(call.callee_name or ""))
    return form is not None and all(w.is_uniform(call.args[i]) for i in form.scalar)


def widen_intrinsic(w: Widening, call: Instruction) -> bool:
    """Widen a call of an LLVM intrinsic that has a vector form; False when it has none, for these arguments."""
    base = _base_name(call.callee_name or "")
    if base in _PASSED_ON:
        w.set_vector(call, w.vector(call.args[0]))
        return True
    if widen_saturating(w, call):
        return True
    if not has_form(w, call):
        return False
    form = _FORMS[base]
    args = [w.scalar(a) if i in form.scalar else w.vector(a) for i, a in enumerate(call.args)]
    result = w.lanes.vector(call.type)
    types = [mangled(result if i is None else args[i].type) for i in form.overloads]
    callee = w.intrinsic(".".join(["llvm", base, *types]), result, tuple(a.type for a in args))
    built = w.builder.call(callee, args, flags=call.flags, name=call.name)
    built.loc = call.loc
    w.set_vector(call, built)
    return True


def _base_name(name: str) -> str:
    """``llvm.smin.i32`` as ``smin``."""
    if not name.startswith("llvm."):
        return ""
    parts = name.removeprefix("llvm.").split(".")
    for length in (3, 2, 1):
        base = ".".join(parts[:length])
        if base in _FORMS or base in _PASSED_ON:
            return base
    return ""
