"""bfloat16 as integers: no instruction of it is left but calls, and functions return what they returned."""

import random
import struct
from typing import Any

import numpy as np
import pytest

from transform.chain import returned
from weft.cuda.ptx.module import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.bfloat_words import use_words

DECLARED = """
declare bfloat @llvm.fabs.bf16(bfloat)
declare bfloat @llvm.minnum.bf16(bfloat, bfloat)
"""
HEAD = "  %p = trunc i64 %a to i16\n  %q = trunc i64 %b to i16\n"
OF_WORDS = HEAD + "  %x = bitcast i16 %p to bfloat\n  %y = bitcast i16 %q to bfloat\n"
BITS = "  %w = bitcast bfloat %r to i16\n  %e = zext i16 %w to i64\n  ret i64 %e\n"

BODIES = {
    "double": "  %d = bitcast i64 %a to double\n  %r = fptrunc double %d to bfloat\n" + BITS,
    "float": "  %i = lshr i64 %a, 32\n  %t = trunc i64 %i to i32\n  %d = bitcast i32 %t to float\n"
    "  %r = fptrunc float %d to bfloat\n" + BITS,
    "integer": HEAD + "  %r = sitofp i16 %p to bfloat\n" + BITS,
    "sum": OF_WORDS + "  %r = fadd bfloat %x, %y\n" + BITS,
    "difference": OF_WORDS + "  %r = fsub bfloat %x, %y\n" + BITS,
    "product": OF_WORDS + "  %r = fmul bfloat %x, %y\n" + BITS,
    "quotient": OF_WORDS + "  %r = fdiv bfloat %x, %y\n" + BITS,
    "signs": OF_WORDS + "  %n = fneg bfloat %x\n  %m = call bfloat @llvm.fabs.bf16(bfloat %y)\n"
    "  %c = fcmp olt bfloat %n, %m\n  %r = select i1 %c, bfloat %n, bfloat 0xRC0A0\n" + BITS,
    "least": OF_WORDS + "  %r = call bfloat @llvm.minnum.bf16(bfloat %x, bfloat %y)\n" + BITS,
    "wide": OF_WORDS + "  %c = fcmp ueq bfloat %x, %y\n  %d = fpext bfloat %x to double\n"
    "  %s = fpext bfloat %y to float\n  %sd = fpext float %s to double\n  %z = select i1 %c, double %sd, double %d\n"
    "  %e = bitcast double %z to i64\n  ret i64 %e\n",
    "loop": OF_WORDS + "  %m = alloca i16\n  store bfloat %y, ptr %m\n  br label %loop\nloop:\n"
    "  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]\n  %r = phi bfloat [ %x, %entry ], [ %s, %loop ]\n"
    "  %v = load bfloat, ptr %m\n  %h = fmul bfloat %v, 0xR3F00\n  store bfloat %h, ptr %m\n"
    "  %s = fadd bfloat %r, %h\n  %k1 = add i32 %k, 1\n  %c = icmp ult i32 %k1, 4\n"
    "  br i1 %c, label %loop, label %done\ndone:\n" + BITS,
}  # fmt: skip


def _numbers(seed: int) -> list[int]:
    """Bits of doubles, in whose halves are floats and bfloat16: any, and those that lie halfway between two."""
    draw = random.Random(seed)
    some = [draw.getrandbits(64) for _ in range(30)]
    for _ in range(60):
        near = draw.getrandbits(16) << 16 | draw.choice((0x8000, 0x7FFF, 0x8001, 0, 1, 0xFFFF))
        value = struct.unpack("<f", struct.pack("<I", near))[0]
        wide = struct.unpack("<Q", struct.pack("<d", value))[0]
        some += [wide + draw.choice((-1, 0, 1)) & (1 << 64) - 1, near << 32 | draw.getrandbits(16)]
    ends = (0x7F80, 0xFF80, 0x7F7F, 0x0001, 0x8000, 0, 0x0080, 0x7FC1, 0x3F80)
    return some + [e << 48 | e << 32 | e for e in ends]


def _is_nan(kind: str, bits: int) -> bool:
    if kind == "wide":
        return bits >> 52 & 0x7FF == 0x7FF and bits & (1 << 52) - 1 != 0
    return bits >> 7 & 0xFF == 0xFF and bits & 0x7F != 0


@pytest.mark.parametrize("kind", BODIES)
def test_functions_return_what_they_returned(kind: str) -> None:
    text = f"define i64 @f(i64 %a, i64 %b) {{\nentry:\n{BODIES[kind]}}}\n{DECLARED}"
    before, after = read_module(text), read_module(text)
    assert use_words(after.functions["f"]) > 0
    verify(after)
    left = write_module(after).partition("}")[0]
    assert "bfloat" not in left
    numbers = _numbers(len(kind))
    arguments = [np.array(numbers, np.uint64), np.array(numbers[::-1], np.uint64)]
    run = returned("f", arguments, len(numbers))
    was, now = run(before, "FR"), run(after, "FR")
    assert isinstance(was, list) and isinstance(now, list)
    for a, b, old, new in zip(*arguments, was, now, strict=True):
        assert old == new or (_is_nan(kind, old) and _is_nan(kind, new)), (a, b, old, new)


MANY = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out)
{
    .reg .pred %p;
    .reg .b16 %h<40>;
    .reg .b32 %r<4>;
    .reg .f32 %f<40>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
"""


def test_many_conversions_are_few_instructions() -> None:
    """LLVM took each apart, lane by lane: 24 of them took 13 s to compile."""
    modes = ("rn", "rz", "rn", "rz.relu")
    body = "".join(
        f"    ld.global.f32 %f{k}, [%rd1+{1024 * k}];\n    cvt.{modes[k % 4]}.bf16.f32 %h{k}, %f{k};\n"
        f"    cvt.f32.bf16 %f{k}, %h{k};\n    st.global.f32 [%rd2+{1024 * k}], %f{k};\n"
        for k in range(24)
    )
    text = MANY + body + "    ret;\n}\n"
    draw = np.random.default_rng(1)
    x = draw.integers(0, 1 << 32, 256 * 24, dtype=np.uint32)
    x[::3] = (x[::3] & 0xFFFF0000) | 0x8000
    results: list[np.ndarray[Any, Any]] = []
    for module in (Module(text), Module(text, width=1), Module(text, debug=True)):
        out, kernel = np.zeros(256 * 24, np.float32), module.k
        kernel[1, 256](x.view(np.float32), out)
        results.append(out)
        if not results[1:]:
            assert "bfloat" not in kernel.inspect_llvm()
            assert len(kernel.inspect_asm().splitlines()) < 12_000
    assert np.array_equal(results[0], results[1], equal_nan=True)
    assert np.array_equal(results[0], results[2], equal_nan=True)
