"""Every directive: read, written, and to the assembler the same as before."""

import pytest

from ptx import tools
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.syntax import (
    Alias,
    BranchTargets,
    CallPrototype,
    Directive,
    File,
    Float,
    Integer,
    Loc,
    Pragma,
    Setting,
    Symbol,
)
from weft.ptx.writer import write_module

TEXT = """
.version 9.0
.target sm_90a, texmode_independent
.address_size 64
.file 1 "a.cu", 1700000000, 1234
.file 2 "b.cu"
.pragma "nounroll";
.extern .shared .align 16 .b8 dynamic[];
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
.visible .const .align 8 .f64 table[2][2] = {{1.0, 0d4000000000000000}, {-3.5, 0f40800000}};
.global .attribute(.managed) .align 4 .u32 shared_with_host = 5;
.weak .global .v4 .f32 quad = {1.0, 2.0, 3.0, 4.0};
.global .u64 pointers[4] = {generic(quad), generic(quad)+8, table+16, 0};
.global .u8 bytes[3] = {0xFF(quad), 0xFF00(quad), 017};
.global .texref image;
.global .samplerref sampler = {addr_mode_0 = clamp_to_border, filter_mode = nearest};
.global .b32 one = 1, two = 2, many[3];
.extern .func (.param .align 8 .b8 result[16]) pair(.param .align 8 .b8 given[16], .param .b32 n);
.extern .func never(.reg .b32 a) .noreturn;
.func (.reg .b32 r) twice(.reg .b32 a) { add.s32 r, a, a; ret; }
.alias twin, twice;
.visible .entry k(
	.param .align 8 .b8 record[24],
	.param .u64 .ptr .global .align 16 out,
	.param .u64 .ptr any,
	.param .b32 n
)
.reqntid 128, 1, 1
.minnctapersm 2
.maxnreg 64
.explicitcluster
.reqnctapercluster 2, 1, 1
.pragma "nounroll";
{
	.loc 1 7 5
	.pragma "nounroll";
	.reg .pred p, q;
	.reg .b32 %r<9>, i;
	.reg .b64 %rd<5>;
	.reg .v4 .f32 v;
	.local .align 8 .b8 stack[16];
	.shared .v2 .b32 s;
	.param .b64 slot<2>;
	calls: .calltargets twice;
	proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[8]);
	targets: .branchtargets A, B, C<2>;
	mov.b32 i, %laneid;
	.loc 2 9 1, function_name names+4, inlined_at 1 7 5
	brx.idx i, targets;
A:
	mov.f32 v.x, 0f3F800000;
	add.f32 v.y, v.x, 1.0;
	st.local.f32 [stack+4], v.y;
	ld.param.b64 %rd1, [record+8];
B:
	setp.lt.s32 p|q, i, 1 << 4;
	@!p bra C0;
	{
		.reg .b32 i;
		mov.b32 i, -0x10;
		call (%r2), twice, (i);
		add.s32 %r3, i, 0b101;
	}
C0:
	@p mov.b64 {%r1, _}, %rd1;
C1:
	mov.u64 %rd2, table;
	cvta.const.u64 %rd2, %rd2;
	ld.f64 %rd3, [%rd2+8];
	st.shared.v2.b32 [s], {i, 12U};
	ld.param.b64 %rd4, [out];
	st.global.b64 [%rd4], %rd3;
	st.global.b32 [%rd4+8], %r3;
	exit;
}
.section .debug_str
{
names:
	.b8 107, 0
	.b32 names
	.b32 .debug_str
	.b64 ends-names
ends:
}
@@DWARF .byte 1
"""


def test_directives():
    module = read_module(TEXT, "all.ptx")
    check_module(module)
    assert read_module(write_module(module)) == module
    assert module.target == ("sm_90a", "texmode_independent")
    assert module.body[0] == File(1, "a.cu", (1700000000, 1234))
    variables = {variable.name: variable for variable in module.variables()}
    assert variables["table"].initializer[1] == (Float(0xC00C000000000000), Float(0x40800000, 32))
    assert variables["shared_with_host"].attributes == (("managed", ()),)
    assert variables["pointers"].initializer[1:3] == (Symbol("quad", 8, True), Symbol("table", 16))
    assert variables["bytes"].initializer[1:] == (Symbol("quad", mask=0xFF00), Integer(15))
    assert variables["sampler"].initializer[1] == Setting("filter_mode", Symbol("nearest"))
    assert variables["dynamic"].extents == (None,) and variables["many"].extents == (3,)
    assert Alias("twin", "twice") in module.body
    pair, kernel = module.function("pair"), module.function("k")
    assert (
        pair.body is None
        and module.function("never").directives == (Directive("noreturn"),)
        and len(pair.returns) == 1
    )
    assert kernel.parameters[1].pointer.space == "global" and kernel.parameters[1].pointer.align == 16
    assert kernel.directive("reqnctapercluster").values == (2, 1, 1)
    by_type = {type(statement): statement for statement in kernel.body}
    assert by_type[Loc].function == Symbol("names", 4) and by_type[Loc].inlined_at == (1, 7, 5)
    assert [name for part in by_type[BranchTargets].targets for name in part.names()] == [
        "A",
        "B",
        "C0",
        "C1",
    ]
    assert by_type[CallPrototype].parameters[1].extents == (8,)
    assert by_type[Pragma].texts == ("nounroll",)


# What the assembler wants otherwise, or not at all on machines that are built today.
_NOT_ASSEMBLED = (
    ".global .samplerref",
    "@@DWARF",
    ".global .texref",
    ".alias",
    ".func (.reg",
    "call (%r2)",
    "calls:",
)


@pytest.mark.skipif(tools.PTXAS is None or tools.NVDISASM is None, reason=tools.MISSING)
def test_the_assembler_makes_the_same_of_both():
    lines = [line for line in TEXT.splitlines() if not any(word in line for word in _NOT_ASSEMBLED)]
    text = "\n".join(lines).replace(", texmode_independent", "")
    again = write_module(read_module(text))
    assert tools.machine_code(again, "sm_90a") == tools.machine_code(text, "sm_90a")
