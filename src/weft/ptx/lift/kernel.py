"""A kernel of a PTX module, and the functions that it calls, as a P-LLVM module.

Precondition: the module is well-formed (`weft.ptx.check`). Postcondition of `lift_kernel`: one kernel with the
parameters of the source, in their order (numbers as numbers, what is passed in memory as ``byval`` pointers), functions
that are inlined unless they call themselves, module variables, and calls as clang makes them of CUDA C
(`weft.frontend.cuda_c.adopt` has the rest of the way). Registers are stack slots, addresses integers:
``sroa`` and `weft.ptx.lift.addresses` come next.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.diag.errors import PtxError
from weft.ir import Argument, Builder, Function, Module
from weft.ir.intrinsics import KERNEL_ATTRIBUTE
from weft.ir.metadata import DebugLoc
from weft.ir.types import I1, I8, PTR, VOID, ArrayType, FunctionType, StructType, Type, int_type
from weft.ptx import syntax
from weft.ptx.lift.body import Body, Slot
from weft.ptx.lift.calls import is_by_address, is_memory, taken
from weft.ptx.lift.control import TERMINATORS, branch_target, end
from weft.ptx.lift.flushing import computes_subnormals, flushed_registers
from weft.ptx.lift.integers import CARRY
from weft.ptx.lift.known_floats import known_floats
from weft.ptx.lift.latches import join_latches
from weft.ptx.lift.lines import Lines
from weft.ptx.lift.memory import space_in
from weft.ptx.lift.operations import is_selected, operation_of
from weft.ptx.lift.types import bits_of, ir_type
from weft.ptx.lift.unrolling import keep_rolled
from weft.ptx.lift.variables import alloca_of, declare_variable, module_variables, names_of, size_of, space_of
from weft.ptx.lift.warps import has_numbered_barriers
from weft.ptx.lift.written_exponentials import written_exponentials
from weft.ptx.scopes import without_scopes


def lift_kernel(text: syntax.Module, name: str, lock_step: bool = False) -> Module:
    """Return the module of one kernel.

    Parameters
    ----------
    text
        The PTX.
    name
        The kernel.
    lock_step
        Whether warps run in lock step although nothing in the kernel asks for it.

    Raises
    ------
    UnsupportedError
        It has what weft cannot run, at the instruction's line.
    PtxError
        A name in it is not declared.
    """
    module = Module(name)
    kernel = next((f for f in text.entries() if f.name == name), None)
    if kernel is None:
        raise PtxError(
            f"there is no kernel {name}", hint=f"there are {', '.join(f.name for f in text.entries())}"
        )
    variables = module_variables(text, module)
    lines = Lines(text)
    needed = [kernel, *_called(text, kernel)]
    numbered = has_numbered_barriers(needed)
    functions: dict[str, tuple[syntax.Function, Function]] = {}
    for source in needed:
        functions[source.name] = source, _declared(text, module, source)
    recursive = _recursive(text, needed)
    for source, function in functions.values():
        if not source.entry and source.name not in recursive:
            function.attributes = ("alwaysinline",)
        builder = Builder(function.add_block("entry"))
        body = Body(
            text, without_scopes(source), function, builder, variables=dict(variables), functions=functions,
            numbered=numbered,
        )  # fmt: skip
        if source.entry and (lock_step or any(map(_is_warp_synchronous, needed))):
            body.ask("weft.warp.sync")
        _lift_body(body, lines)
    lines.finish(module)
    return module


def _is_warp_synchronous(function: syntax.Function) -> bool:
    """Whether a function reads or writes volatile shared memory.

    By that threads of a warp work together without a barrier in programs for GPUs before sm_70, which run warps in lock
    step.
    """
    return any(
        i.opcode in ("ld", "st") and "volatile" in i.modifiers and space_in(i) == "shared"
        for i in function.instructions()
    )


def _called(text: syntax.Module, function: syntax.Function) -> list[syntax.Function]:
    """The functions that are needed, each once."""
    found: dict[str, syntax.Function] = {}
    work = [function]
    while work:
        for name in _callees(text, work.pop()):
            if name in found or name == function.name:
                continue
            try:
                callee = text.function(name)
            except KeyError:
                continue
            if callee.body is not None:
                found[name] = callee
                work.append(callee)
    return list(found.values())


def _callees(text: syntax.Module, function: syntax.Function) -> Iterator[str]:
    by_address = False
    for instruction in function.instructions():
        if instruction.opcode == "call":
            by_address |= is_by_address(instruction)
            yield from (o.name for o in instruction.operands if isinstance(o, syntax.Symbol))
    if by_address:
        yield from sorted(taken(text))


def _recursive(text: syntax.Module, functions: list[syntax.Function]) -> set[str]:
    """Functions that call themselves, be it through others."""
    names = {f.name for f in functions}
    callees = {f.name: {n for n in _callees(text, f) if n in names} for f in functions}
    reached = {name: set(known) for name, known in callees.items()}
    for _ in names:
        for known in reached.values():
            known |= {m for n in list(known) for m in callees[n]}
    return {name for name, known in reached.items() if name in known}


def _declared(text: syntax.Module, module: Module, source: syntax.Function) -> Function:
    """The function of P-LLVM, without a body."""
    types: list[Type] = [PTR if is_memory(p) else ir_type(p.type) for p in source.parameters]
    names = [p.name for p in source.parameters]
    result: Type = VOID
    if source.returns:
        if is_memory(source.returns[0]):
            types.append(PTR)
            names.append(source.returns[0].name)
        else:
            result = ir_type(source.returns[0].type)
    function = Function(source.name, FunctionType(result, tuple(types)), tuple(names))
    module.add_function(function)
    for argument in function.args:
        argument.attributes = ("noundef",)
    if source.entry:
        function.attributes = (f'"{KERNEL_ATTRIBUTE}"',)
        for argument, parameter in zip(function.args, source.parameters, strict=True):
            if is_memory(parameter):
                _pass_in_memory(module, argument, parameter)
    else:
        function.linkage.linkage = "internal"
    return function


def _pass_in_memory(module: Module, argument: Argument, parameter: syntax.Variable) -> None:
    name = f"param.{parameter.name}"
    align = parameter.align or bits_of(parameter.type) // 8
    # An element of the alignment makes the struct aligned as the parameter is.
    unit = int_type(8 * min(align, 8))
    size, width = size_of(parameter), min(align, 8)
    fields: list[Type] = [ArrayType(unit, size // width)]
    if size % width:
        fields.append(ArrayType(I8, size % width))
    module.types[name] = StructType(tuple(fields), name=name)
    argument.attributes = ("noundef", "readonly", f"byval(%{name})", f"align {align}")


def _lift_body(body: Body, lines: Lines) -> None:
    subprogram = lines.begin(body.source, body.function)
    body.builder.loc = DebugLoc(body.source.line, 0, subprogram)
    _declare_parameters(body)
    body.registers[CARRY] = Slot(body.builder.alloca(I1, name=CARRY), 1)
    statements = body.source.body or []
    body.flushed = flushed_registers(body.source)
    body.is_mixed = computes_subnormals(body.source)
    body.known_floats = known_floats(body.source)
    body.exponentials = written_exponentials(body.source, body.known_floats)
    for statement in statements:
        if isinstance(statement, syntax.Label):
            body.labels[statement.name] = body.block(statement.name)
        elif isinstance(statement, syntax.RegisterDeclaration):
            _declare_registers(body, statement)
        elif isinstance(statement, syntax.Variable):
            _declare_own(body, statement)
    live = True
    for statement in statements:
        if isinstance(statement, syntax.Loc):
            lines.at(statement, body)
        elif isinstance(statement, syntax.Label):
            body.go_on(body.labels[statement.name])
            live = True
        elif isinstance(statement, syntax.Instruction) and live:
            lines.instruction(statement, body)
            live = _lift_instruction(body, statement)
    if live:
        end(body)
    _drop_unreached(body.function)
    join_latches(body.function)
    keep_rolled(body)


def _lift_instruction(body: Body, i: syntax.Instruction) -> bool:
    """Lift an instruction; return whether the next one can be reached behind it."""
    operation = operation_of(body, i)
    if i.guard is None:
        operation(body, i)
        return i.opcode not in TERMINATORS
    condition = body.guard(i.guard)
    if is_selected(i):
        body.condition = condition
        operation(body, i)
        body.condition = None
        return True
    if i.opcode == "bra":
        behind = body.block()
        body.builder.cond_br(condition, branch_target(body, i, i.operands[0]), behind)
        body.builder.at_end(behind)
        return True
    behind = body.under(condition)
    operation(body, i)
    body.go_on(behind)
    return True


def _declare_parameters(body: Body) -> None:
    """Give each parameter memory, from which ``ld.param`` reads; a formal register is a register."""
    arguments = {argument.name: argument for argument in body.function.args}
    for parameter in (*body.source.parameters, *body.source.returns):
        argument = arguments.get(parameter.name)
        if is_memory(parameter):
            assert argument is not None
            body.variables[parameter.name] = argument
            continue
        slot = body.builder.alloca(ir_type(parameter.type), name=parameter.name)
        if argument is not None:
            body.builder.store(argument, slot)
        body.variables[parameter.name] = slot
        if parameter.space == "reg":
            body.registers[parameter.name] = Slot(slot, bits_of(parameter.type))


def _declare_registers(body: Body, declaration: syntax.RegisterDeclaration) -> None:
    bits = bits_of(declaration.type)
    for name in declaration.names():
        type: Type = I1 if declaration.type == "pred" else int_type(bits)
        if declaration.vector:
            type = ArrayType(type, declaration.vector)
        body.registers[name] = Slot(body.builder.alloca(type, name=name), bits)


def _declare_own(body: Body, variable: syntax.Variable) -> None:
    """A variable of the function: shared memory is the work-group's, all else the thread's."""
    for name in names_of(variable):
        body.element_bytes[name] = bits_of(variable.type) // 8 * max(variable.vector, 1)
        if space_of(variable) in ("shared", "global", "const"):
            body.variables[name] = declare_variable(body.module, variable, name)
        else:
            body.variables[name] = alloca_of(body, variable, name)


def _drop_unreached(function: Function) -> None:
    seen, work = {function.entry}, [function.entry]
    while work:
        for successor in work.pop().successors:
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    function.remove_blocks({b for b in function.blocks if b not in seen})
