"""What instructions read and write."""

import pytest

from ptx.text import instruction_of
from weft.ptx.registers import kills, reads, replace_registers, writes
from weft.ptx.syntax import Integer, Register
from weft.ptx.writer import write_statement

ROLES = {
    "mad.wide.s32 %rd1, %r1, %r2, %rd1;": ("%r1 %r2 %rd1", "%rd1"),
    "@!%p1 setp.lt.and.s32 %p2|%p3, %r1, 5, !%p4;": ("%p1 %r1 %p4", "%p2 %p3"),
    "ld.global.v2.f32 {%f1, _}, [%rd1+-8];": ("%rd1", "%f1"),
    "st.shared.v4.b32 [%r1], {%r2, %r3, %r2, 0};": ("%r1 %r2 %r3", ""),
    "mov.b64 {%r1, %r2}, %rd1;": ("%rd1", "%r1 %r2"),
    "mov.u32 %r1, %tid.x;": ("", "%r1"),
    "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;": ("%rd1 %r2 %r3", "%r1"),
    "red.global.add.f32 [%rd1], %f1;": ("%rd1 %f1", ""),
    "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;": ("%r2", "%r1 %p1"),
    "bar.red.popc.u32 %r1, 0, %p1;": ("%p1", "%r1"),
    "call (%r1), %rd1, (%r2, %f1), f;": ("%rd1 %r2 %f1", "%r1"),
    "call f, (%r2);": ("%r2", ""),
    "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];": ("%rd1 %r1 %r2", "%f1 %f2 %f3 %f4"),
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;":
        ("%f1 %f2 %f3 %f4 %rd1 %rd2", "%f1 %f2 %f3 %f4"),
    "vadd.s32.u32.s32.sat %r1, %r2.b0, -%r3.h1;": ("%r2 %r3", "%r1"),
    "atom.add.acq_rel.cta.u64 %rd1, [%rd2], 4;": ("%rd2", "%rd1"),
    "bra L;": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", ROLES)
def test_roles(text):
    read, written = ROLES[text]
    instruction = instruction_of(text)
    assert " ".join(reads(instruction)) == read
    assert " ".join(writes(instruction)) == written


def test_a_guarded_instruction_kills_nothing():
    assert kills(instruction_of("@%p1 mov.u32 %r1, 5;")) == ()
    assert kills(instruction_of("mov.u32 %r1, 5;")) == ("%r1",)


def test_replacing():
    instruction = instruction_of("@%p1 mad.lo.s32 %r1, %r1, %r2, %r3;")
    new = replace_registers(
        instruction,
        lambda register: Integer(7) if register.name == "%r2" else Register(f"{register.name}_in"),
        lambda register: Register(f"{register.name}_out"),
    )
    assert write_statement(new) == "@%p1_in mad.lo.s32 %r1_out, %r1_in, 7, %r3_in;"
    assert write_statement(instruction) == "@%p1 mad.lo.s32 %r1, %r1, %r2, %r3;"
