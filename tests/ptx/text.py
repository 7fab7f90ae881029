"""PTX for tests: bodies with what a module needs around them."""

from weft.ptx.reader import read_module
from weft.ptx.syntax import Function, Instruction, Module

REGISTERS = """\
.reg .pred %p<9>;
.reg .b8 %b<9>;
.reg .b16 %h<9>;
.reg .b32 %r<40>;
.reg .f32 %f<40>;
.reg .b64 %rd<9>;
.reg .f64 %fd<9>;
.reg .b128 %q<4>;
"""


def module_of(body: str, *, version: str = "9.0", target: str = "sm_90", outside: str = "") -> Module:
    """A module with one kernel `k`; its body begins on line 3 of the text, whatever `outside` is."""
    registers = REGISTERS.replace("\n", " ")
    first = outside.replace("\n", " ")
    head = f".version {version} .target {target} .address_size 64 {first}\n"
    return read_module(
        f"{head}.visible .entry k(.param .u64 out, .param .u32 n) {{ {registers}\n{body}\n}}\n", "k.ptx"
    )


def kernel_of(body: str) -> Function:
    return module_of(body).function("k")


def instruction_of(text: str) -> Instruction:
    return next(kernel_of(text).instructions())
