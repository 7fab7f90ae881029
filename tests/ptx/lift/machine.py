"""Runs single instructions: a kernel in PTX that applies many of them to the elements of three arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.cuda.ptx.module import Module

_BYTES = 8


@dataclass(frozen=True, slots=True)
class Case:
    """An instruction.

    Parameters
    ----------
    text
        Of it, with ``$d`` for the destination and ``$a``, ``$b`` and ``$c`` for the operands. Several may stand here.
    result
        The type of the destination.
    means
        What it gives, of numbers as NumPy has them, as bits or as a number.
    """

    text: str
    result: str
    means: Callable[..., Any]


def module_of(cases: Sequence[Case], source: str) -> str:
    """A kernel ``k`` that writes the results of all cases, each in eight bytes, one array after the other."""
    size = int(source[1:]) // 8
    lines = []
    for k, case in enumerate(cases):
        text = case.text
        for name, register in (("$d", "%d"), ("$a", "%a"), ("$b", "%b"), ("$c", "%c")):
            text = text.replace(name, f"{register}{k}" if name == "$d" else register)
        bits = "b16" if case.result in ("f16", "bf16") else case.result
        store = f"st.global.{bits.replace('pred', 'b32')} [%out+{_BYTES * k}], %d{k};"
        if case.result == "pred":
            store = f"selp.b32 %s{k}, 1, 0, %d{k}; st.global.b32 [%out+{_BYTES * k}], %s{k};"
        declared = f".reg .{case.result} %d{k}; .reg .b32 %s{k};"
        lines.append(f"    {{ {declared} {text} {store} }}")
    body = "\n".join(lines)
    return f"""
.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c)
{{
    .reg .b32 %r<4>;
    .reg .b64 %p<8>, %out;
    .reg .{source} %a, %b, %c;
    .reg .pred %q<4>;
    .reg .b32 %t<8>;
    .reg .b64 %u<8>;
    .reg .b16 %h<8>;
    .reg .f32 %f<8>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r0, %r1, %r2;
    ld.param.u64 %out, [out];
    ld.param.u64 %p1, [a];
    ld.param.u64 %p2, [b];
    ld.param.u64 %p3, [c];
    mul.wide.s32 %p4, %r3, {size};
    add.s64 %p1, %p1, %p4;
    add.s64 %p2, %p2, %p4;
    add.s64 %p3, %p3, %p4;
    mul.wide.s32 %p4, %r3, {_BYTES * len(cases)};
    add.s64 %out, %out, %p4;
    ld.global.{source} %a, [%p1];
    ld.global.{source} %b, [%p2];
    ld.global.{source} %c, [%p3];
{body}
    ret;
}}
"""


def run(
    cases: Sequence[Case], source: str, inputs: Sequence[np.ndarray[Any, Any]], **options: Any
) -> np.ndarray[Any, Any]:
    """The results, an array of 64 bits for each case."""
    count = len(inputs[0])
    out = np.zeros((count, len(cases)), np.uint64)
    Module(module_of(cases, source), **options).k[1, count](out.view(np.uint8), *inputs)
    return out.T
