"""Control flow of bodies, and bodies without scopes."""

import pytest

from ptx.text import kernel_of
from weft.errors import PtxError
from weft.ptx.flow import flow_of
from weft.ptx.scopes import without_scopes
from weft.ptx.writer import write_statement


def test_a_loop_with_an_exit_and_a_table_of_targets():
    #      0 -> (exit) 1
    #      1 -> A, B by table
    #      A -> A | B
    flow = flow_of(
        kernel_of(
            """
            @%p1 exit;
            T: .branchtargets A, B;
            brx.idx %r1, T;
            A: AA:
            add.s32 %r1, %r1, 1;
            @!%p1 bra A;
            B: ret;
            """
        )
    )
    assert repr(flow.cfg) == "CFG(0 -> 1; 1 -> A B; A -> A B)"
    assert [instruction.opcode for instruction in flow.instructions(2)] == ["add", "bra"]


def test_a_missing_label():
    with pytest.raises(PtxError, match="no label 'L'"):
        flow_of(kernel_of("bra L;"))


def test_names_of_scopes_become_names_of_the_function():
    function = kernel_of(
        """
        { .reg .pred p; .reg .b32 %r<2>; setp.ne.s32 p, %r1, %r2; @p bra L; mov.u32 %r1, 1; L: }
        { .reg .pred p; setp.ne.s32 p, %r1, 0; @!p bra L; { bra L; } L: }
        """
    )
    texts = [write_statement(statement) for statement in without_scopes(function).body[8:]]
    assert texts == [
        ".reg .pred p;",
        ".reg .b32 %r0$1, %r1$1;",
        "setp.ne.s32 p, %r1$1, %r2;",
        "@p bra L;",
        "mov.u32 %r1$1, 1;",
        "L:",
        ".reg .pred p$1;",
        "setp.ne.s32 p$1, %r1, 0;",
        "@!p$1 bra L$1;",
        "bra L$1;",
        "L$1:",
    ]
