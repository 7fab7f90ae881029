"""Malformed PTX, and PTX that breaks a rule: what is said, and where the caret is."""

import pytest

from ptx.text import module_of
from weft.errors import PtxError
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.registers import replace_registers
from weft.ptx.syntax import Register

# The body of a kernel with ^ before what the caret points at, and a part of the message.
WRONG = {
    "^foo.s32 %r1, %r2;": "no instruction 'foo'",
    "@%p1 ^add.f32.s32 %r1, %r2, %r3;": "has no modifier '.s32' here",
    "^mad.s32 %r1, %r2, %r3, %r4;": "'mad' has no modifier '.s32' here",
    "^setp.eq %p1, %r1, %r2;": "'setp.eq' is not complete",
    "^add.s32 %r1, %r2;": "takes 3 operands, not 2",
    "^ld.global.u32 %r1, %rd1;": "operand 2 of 'ld.global.u32' has to be an address",
    ".reg .u32 u; add.f32 %f1, %f2, ^u;": "'u' is of type .u32, and .f32 is needed here",
    "add.s64 %rd1, ^%r1, %rd2;": "'%r1' is of type .b32, and .s64 is needed here",
    "mul.f32 %f1, %f2, ^2;": "an integer constant is no .f32",
    "add.s32 %r1, %r1, ^1.5;": "a floating constant is no .s32",
    "mov.u32 %r1, ^%nothing;": "'%nothing' is not declared",
    "mov.u32 %r1, ^%clock64;": "'%clock64' is of type .u64",
    "add.u32 %r1, %r1, ^%tid.x;": "'add' does not read special registers",
    "ld.global.u64 ^%r1, [%rd1];": ".u64 or wider is needed",
    "ld.global.v2.u32 ^{%r1, %r2, %r3}, [%rd1];": "3 elements, and 2 are needed",
    "mov.b64 ^{%r1, %r2, %r3}, %rd1;": "a .b64 has no 3 parts",
    "ld.shared.u32 %r1, ^[out];": "'out' is in .param",
    "ld.global.u32 %r1, ^[%h1];": "an address is of 32 or 64 bits",
    "bra ^L;": "no label 'L'",
    "L: ^L: ret;": "'L' is declared twice",
    ".reg .b32 x; ^.reg .f32 x;": "'x' is declared twice",
    "@^%r1 ret;": "'%r1' is no predicate",
    "^call f, (%r1);": "'f' has 2 arguments, and this call 1",
    "^tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;": "is only on sm_100a",
    "^redux.sync.add.s32 %r1, %r2, -1 ;": "needs sm_80, and the target is sm_75",
    "add.s32 %r1, %r2, %r3^": "expected ';'",
    "add.s32 %r1, ^,;": "expected an operand, found ','",
    "add.s32 %r1, %r2, ^99999999999999999999;": "needs more than 64 bits",
    "ld.global.u32 %r1, [%rd1^;": "to close the address",
    "^.align 4;": "no directive that stands in a body",
    "mov.u32 %r1, ^#;": "begins nothing in PTX",
    '.pragma ^"no end': "does not end on its line",
    "^/* no end": "comment does not end",
    "^.shared .b32 s = 4;": "have no initial value",
}  # fmt: skip


@pytest.mark.parametrize("marked", WRONG)
def test_errors(marked):
    before, _, after = marked.partition("^")
    with pytest.raises(PtxError) as caught:
        check_module(
            module_of(before + after, target="sm_75", outside=".func f(.param .u32 a, .param .u32 b);")
        )
    assert WRONG[marked] in caught.value.message
    span = caught.value.span
    column = len(before) + 1
    assert (span.file, span.line, span.column) == ("k.ptx", 3, column), str(caught.value)


def test_the_guard_has_to_be_declared():
    with pytest.raises(PtxError, match="'%p77' is no register that is declared here"):
        module_of("@%p77 ret;")


def test_how_an_error_is_shown():
    with pytest.raises(PtxError) as caught:
        check_module(module_of("\tadd.s32 \t%r1, %r2, %rd3;"))
    assert str(caught.value) == (
        "k.ptx:3:21: '%rd3' is of type .b64, and .s32 is needed here\n"
        "  3 | \tadd.s32 \t%r1, %r2, %rd3;\n"
        "    | \t        \t          ^~~~"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected '.version'"),
        (".version 8", "expected a version such as 8.5"),
        (".version 8.0\n.target sm_99", "there is no target 'sm_99'"),
        (".version 6.0\n.target sm_90", "needs PTX 7.8"),
        (".version 8.0\n.target sm_90\n.entry k() { ret;", "a '}' is missing"),
        (".version 8.0\n.target sm_90\n.entry k() {}\n.entry k() {}", "'k' is declared twice"),
        (".version 8.0\n.target sm_90\n.global .b8 x[2] = {1, 2, 3};", "2 elements, and 3 values"),
        (".version 8.0\n.target sm_90\n.global .u64 x = y;", "'y' is not declared"),
        (".version 8.0\n.target sm_90\n.global .u64 x = 1 / 0;", "is zero"),
        (".version 8.0\n.target sm_90\n.global .align 3 .u64 x;", "a power of two"),
        (".version 8.0\n.target sm_90\n.global .u64 x = " + "(" * 50000, "nested too deeply"),
    ],
)
def test_modules(text, message):
    with pytest.raises(PtxError, match=message):
        check_module(read_module(text))


@pytest.mark.parametrize(
    "where", ["mov.b64 %rd1, {X, %r1};", "st.global.u32 [X], %r1;", "vadd.s32.s32.s32 %r1, X, 1;"]
)
def test_a_module_that_was_made_has_to_declare_its_registers(where):
    module = module_of(where.replace("X", "%r3"))
    kernel = module.function("k")
    kernel.body[-1] = replace_registers(kernel.body[-1], lambda r: Register("%new") if r.name == "%r3" else r)
    with pytest.raises(PtxError, match="'%new' is not declared"):
        check_module(module)
