"""What may run both ways, and the function that runs it by the better one.

Precondition: two functions ``i32 (ptr record, i64 begin, i64 end, i32 worker)`` that do the same. Postcondition: a
third one that does it by either. Preserves the program under FR. The state is a global variable of the code. Launches
of several threads of Python at once may disturb each other's trials, but each group runs once.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.codegen.launch_record import BLOCK
from weft.codegen.order.run_unit import RunUnit
from weft.codegen.stack import ENTRY_ATTRIBUTES
from weft.codegen.trials.run import RUN, running
from weft.codegen.trials.state import WORDS
from weft.ir import FALSE, Builder, Function, GlobalVariable, Instruction, Module, Value
from weft.ir.builder import const_int
from weft.ir.constants import ConstZero
from weft.ir.types import I1, I8, I64, ArrayType, FunctionType
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

BOTH_WAYS = "both ways"
"""What the pass that makes both versions is called."""


def may_try(instructions: Iterable[Instruction], isa: Isa) -> bool:
    """Whether what a thread does may run in lanes and without, by turns: both do the same, and the clock can be read.

    Vector math functions round in another way than those for one number, and atomic operations of lanes have another
    order. On aarch64 programs may not read the clock.
    """
    if isa.arch != "x86_64":
        return False
    for instruction in instructions:
        if instruction.op in ("atomicrmw", "cmpxchg", "fence") or instruction.attrs.get("volatile"):
            return False
        if instruction.op == "call":
            name = instruction.callee_name or ""
            if not name.startswith("llvm.") or math_function(name) is not None:
                return False
    return True


def run_better(
    module: Module, first: Function, second: Function, name: str, rows: RunUnit | None = None
) -> Function:
    """Add a function `name` that runs groups by the better one of two, `first` where it does not know.

    Of kernels, `rows` says how many groups belong together; grains of loops do not.
    """
    type = ArrayType(I64, WORDS)
    state = module.add_global(GlobalVariable(f"{name}.state", type, ConstZero(type)))
    state.linkage.linkage, state.linkage.align = "internal", 128
    function = module.add_function(Function(name, RUN, ("record", "begin", "end", "worker")))
    function.attributes = ENTRY_ATTRIBUTES
    for each in (first, second):
        each.linkage.linkage = "internal"
        each.attributes = (*each.attributes, "noinline")
    builder = Builder(function.add_block("entry"))
    together = const_int(1) if rows is None else _groups_together(module, builder, function.args[0], rows)
    done = builder.call(running(module), (state, first, second, *function.args, together))
    builder.ret(done)
    return function


def _groups_together(module: Module, builder: Builder, record: Value, rows: RunUnit) -> Value:
    """Of how many groups runs are a multiple, or a multiple of that (`RunUnit.groups`)."""
    place = builder.gep(I8, record, (const_int(BLOCK + 8 * rows.dimension),), ("inbounds",))
    size = builder.load(I64, place, align=8)
    twos = module.declare("llvm.cttz.i64", FunctionType(I64, (I64, I1)))
    number = builder.call(twos, (builder.binary("or", size, const_int(rows.width)), FALSE))
    return builder.binary("lshr", const_int(rows.width), number)
