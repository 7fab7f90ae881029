"""Reading PTX: what each piece of text becomes."""

from weft.ptx.reader import read_module
from weft.ptx.syntax import (
    Address,
    Float,
    Guard,
    Instruction,
    Integer,
    Label,
    Register,
    RegisterDeclaration,
    RegisterNames,
    SpecialRegister,
    Symbol,
)
from weft.ptx.writer import write_module

SAXPY = """\
//
// made by hand
//
.version 8.5
.target sm_75
.address_size 64

	// .globl	saxpy
.visible .entry saxpy(
	.param .f32 a,
	.param .u64 .ptr .global .align 4 x,
	.param .u32 n
)
.maxntid 128, 1, 1
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<4>, %f<4>;
	.reg .b64 	%rd<4>;

	mov.u32 	%r1, %tid.x;
	ld.param.u32 	%r2, [n];
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L_end; /* nothing to do */
	ld.param.u64 	%rd1, [x];
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	ld.global.f32 	%f1, [%rd3+-4];
	fma.rn.f32 	%f2, %f1, 0f3F800000, -1.5;
	st.global.f32 	[%rd3], %f2;
$L_end:
	ret;
}
"""


def test_a_kernel():
    module = read_module(SAXPY)
    (kernel,) = module.entries()
    assert (module.version, module.target, module.address_size) == ((8, 5), ("sm_75",), 64)
    assert kernel.name == "saxpy" and kernel.linkage == "visible"
    assert [(p.type, p.name) for p in kernel.parameters] == [("f32", "a"), ("u64", "x"), ("u32", "n")]
    assert kernel.directive("maxntid").values == (128, 1, 1)
    assert kernel.body[1] == RegisterDeclaration("b32", (RegisterNames("%r", 4), RegisterNames("%f", 4)))
    instructions = list(kernel.instructions())
    assert instructions[0] == Instruction("mov", ("u32",), (Register("%r1"), SpecialRegister("%tid", "x")))
    assert instructions[3] == Instruction("bra", (), (Symbol("$L_end"),), Guard(Register("%p1")))
    assert instructions[7].operands == (Register("%f1"), Address(Register("%rd3"), -4))
    one, minus = instructions[8].operands[2:]
    assert one == Float(0x3F800000, 32) and minus.value == -1.5 and minus.bits(32) == 0xBFC00000
    assert Label("$L_end") in kernel.body
    assert (instructions[3].line, instructions[3].column) == (23, 2)


def test_writing_and_reading_again_changes_nothing():
    module = read_module(SAXPY)
    assert read_module(write_module(module)) == module


def constant(expression: str) -> object:
    text = f".version 8.5\n.target sm_75\n.global .u64 x = {expression};"
    return next(read_module(text).variables()).initializer


def test_constant_expressions_have_the_values_of_c():
    assert constant("-(017 + 0x10 * 2) / 3") == Integer(-15)
    assert constant("-7 % 3") == Integer(-1)
    assert constant("1 ? 0b101U : 7") == Integer(5, True)
    assert constant("1 << 3 | 1 == 1 && 2") == Integer(1)
    assert constant("0xFFFFFFFFFFFFFFFF >> 60") == Integer(15, True)
    assert constant("(.s64)0xFFFFFFFFFFFFFFFF >> 60") == Integer(-1)
    assert constant("~0") == Integer(-1)
    assert constant("-1 < 1U") == Integer(0)


def test_a_comment_may_be_the_last_thing() -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    assert read_module(f"{head}// the end", "k.ptx") == read_module(
        f"/* a ** b / */{head}/***/ /* the end */", "k.ptx"
    )
