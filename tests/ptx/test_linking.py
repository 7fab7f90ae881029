"""Modules as one: what one declares and another defines, names of their own, weak definitions."""

import numpy as np
import pytest

from weft.cuda.ptx.module import Module
from weft.errors import PtxError
from weft.ptx.check import check_module
from weft.ptx.linking import link_modules
from weft.ptx.reader.module import read_module
from weft.ptx.writer import write_module

_HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
_KERNEL = (
    _HEAD
    + """
.extern .func (.param .b32 r) shifted(.param .b32 a);
.extern .global .align 4 .u32 shift;
.global .align 4 .u32 factor = 3;
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), shifted, (p); ld.param.b32 %r2, [q]; }
    ld.global.u32 %r3, [factor];
    mul.lo.u32 %r2, %r2, %r3;
    ld.global.u32 %r3, [shift];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
)
_FUNCTION = (
    _HEAD
    + """
.visible .global .align 4 .u32 shift = 7;
.global .align 4 .u32 factor = 10;
.visible .func (.param .b32 r) shifted(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    ld.global.u32 %r2, [factor];
    add.u32 %r1, %r1, %r2;
    st.param.b32 [r], %r1;
    ret;
}
"""
)


@pytest.mark.parametrize("texts", [(_KERNEL, _FUNCTION), (_FUNCTION, _KERNEL)], ids=["kernel", "function"])
def test_a_kernel_and_what_it_calls(texts: tuple[str, str]) -> None:
    linked = link_modules([read_module(text) for text in texts])
    check_module(linked)
    out = np.zeros(32, np.uint32)
    Module(write_module(linked)).k[1, 32](out)
    np.testing.assert_array_equal(out, (np.arange(32) + 10) * 3 + 7)


def test_the_first_weak_definition_stays_unless_one_is_not_weak() -> None:
    def variable(linkage: str, value: int) -> str:
        return f"{_HEAD}{linkage} .global .align 4 .u32 x = {value};\n"

    def linked(*texts: str) -> list[str]:
        module = link_modules([read_module(text) for text in texts])
        return [str(v.initializer) for v in module.variables()]

    assert linked(variable(".weak", 1), variable(".weak", 2)) == linked(variable(".weak", 1))
    assert linked(variable(".weak", 1), variable(".visible", 2)) == linked(variable(".visible", 2))
    with pytest.raises(PtxError, match="two modules define x"):
        linked(variable(".visible", 1), variable(".visible", 2))


def test_one_module_is_itself() -> None:
    module = read_module(_FUNCTION)
    assert link_modules([module]) is module
