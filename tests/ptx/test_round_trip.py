"""Modules drawn from the table of instructions: they are read back as they were written, and keep the rules."""

import os
import random

import pytest

from ptx import tools
from ptx.generate import body
from ptx.text import module_of
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.syntax import Module
from weft.ptx.writer import write_module

MODULES = 200 if os.environ.get("WEFT_FUZZ") else 3


def drawn(seed: int) -> Module:
    rng = random.Random(seed)
    module = module_of(
        "ret;", version="9.5", target=rng.choice(("sm_75", "sm_90a", "sm_100a", "sm_120a")), outside=OUTSIDE
    )
    kernel = module.function("k")
    kernel.body[-1:] = body(rng, module, 150)
    return module


OUTSIDE = """
.const .align 16 .b8 c[64]; .global .align 16 .b8 g[64]; .global .texref t;
.func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b) { mov.b32 r, a; ret; }
"""


@pytest.mark.parametrize("seed", range(MODULES))
def test_drawn_modules_are_read_back(seed):
    module = drawn(seed)
    again = read_module(write_module(module))
    assert again == module
    check_module(again)


@pytest.mark.skipif(tools.PTXAS is None, reason=tools.MISSING)
@pytest.mark.parametrize("seed", range(MODULES // 2))
def test_the_assembler_takes_drawn_modules(seed):
    module = drawn(1000 + seed)
    # Its optimizer fails over some of them, such as conversions whose result nobody uses.
    tools.assemble(write_module(module), module.target[0], "-O0")
