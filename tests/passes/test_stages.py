"""What a log of stages looks at: every program's structure, and each function that a pass has changed."""

from itertools import pairwise

import pytest

from weft.errors import VerifyError
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.types import I32, I64
from weft.passes.stages import Stage, StageLog

PROGRAM = """
define i32 @one(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}

define i32 @other(i32 %x) {
  %y = add i32 %x, 2
  ret i32 %y
}
"""


STEPS = 12


class Unit:
    """A module none of whose programs are run."""

    def __init__(self) -> None:
        self.module: Module = read_module(PROGRAM)

    def stage(self, name: str, text: str) -> Stage | None:
        return None


def kept() -> tuple[StageLog, Function]:
    log = StageLog(unit := Unit())
    log.keep("first")
    return log, unit.module.functions["other"]


def test_a_function_that_was_right_is_looked_at_again_when_it_changes() -> None:
    log, function = kept()
    log.keep("nothing")
    addition = function.entry.instructions[0]
    addition.type = I64
    with pytest.raises(VerifyError, match="the result has type i64, not i32"):
        log.keep("wrong type")
    addition.type = I32
    log.keep("mended")


def test_structure_is_looked_at_where_the_text_is_the_same() -> None:
    log, function = kept()
    function.entry.instructions[0].users.clear()
    with pytest.raises(VerifyError, match="use list"):
        log.keep("use lists")


def test_of_some_programs_one_is_verified_and_none_stays_wrong() -> None:
    log = StageLog(unit := Unit(), every=3)
    log.keep("front end")
    addition = unit.module.functions["other"].entry.instructions[0]
    found = []
    for step in range(STEPS):
        addition.type = I64
        try:
            log.keep("wrong type")
        except VerifyError:
            found.append(step)
        addition.type = I32
    assert len(found) == STEPS // 3 and {b - a for a, b in pairwise(found)} == {3}
