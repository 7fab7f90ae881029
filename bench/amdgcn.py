"""A kernel as LLVM would get it for AMD's GPUs, so that LLVM's uniformity analysis can be asked about it.

Ids become amdgcn intrinsics; sizes and votes of a group become kernel arguments, which are uniform to LLVM; shared
memory becomes a global in the local address space; pointers get the address spaces that the target's divergence rules
go by. Names of values stay, so answers can be compared value by value.
"""

from __future__ import annotations

from weft.ir import Argument, Function, GlobalVariable, Instruction, Module, Value
from weft.ir.constants import ConstInt, ConstNull, Poison
from weft.ir.types import I1, I32, I64, VOID, ArrayType, FunctionType, PointerType, int_type, pointer

TRIPLE = "amdgcn-amd-amdhsa"
LAYOUT = (
    "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128"
    "-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
    "-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)
_GLOBAL, _SHARED, _CONSTANT, _PRIVATE = 1, 3, 4, 5
_SAME_FOR_GROUP = {
    *("weft.local.size", "weft.num.groups", "weft.num.lanes"),
    *("weft.barrier.count", "weft.barrier.and", "weft.barrier.or"),
}
_FORWARDING = {"getelementptr", "phi", "select", "freeze", "bitcast"}


class CannotTranslateError(Exception):
    """The kernel has something that the target's IR has no counterpart of."""


def translate(module: Module, kernel: Function) -> None:
    """Turn the module, which has only this definition, into one for the target, in place.

    Raises
    ------
    CannotTranslateError
        The kernel prints, calls a function that is no intrinsic, or mixes pointers of several address spaces.
    """
    if sum(1 for _ in module.definitions()) > 1:
        raise CannotTranslateError("it has functions that are not inlined")
    module.triple, module.datalayout = TRIPLE, LAYOUT
    _strip(module, kernel)
    for instruction in list(kernel.instructions()):
        if instruction.op == "call":
            _translate_call(module, kernel, instruction)
    _assign_spaces(kernel)
    kernel.calling_convention = "amdgpu_kernel"
    kernel.fn_type = FunctionType(VOID, tuple(a.type for a in kernel.args))
    used = {v for i in kernel.instructions() for v in i.operands if isinstance(v, Function)}
    module.functions = {f.name: f for f in (kernel, *module.functions.values()) if f is kernel or f in used}


def _strip(module: Module, kernel: Function) -> None:
    """Remove debug information and attributes, which this LLVM may not know yet."""
    module.named_metadata.clear()
    kernel.metadata = []
    kernel.attributes = kernel.return_attributes = ()
    for argument in kernel.args:
        argument.attributes = ()
    for function in module.functions.values():
        function.attributes = function.return_attributes = ()
        for argument in function.args:
            argument.attributes = ()
    for instruction in kernel.instructions():
        for record in instruction.debug_records:
            record.drop()
        instruction.debug_records = []
        for kind in list(instruction.metadata):
            instruction.set_metadata(kind, None)
        instruction.loc = None
        for key in ("arg_attrs", "ret_attrs", "fn_attrs"):
            instruction.attrs.pop(key, None)
        if instruction.op in ("icmp", "trunc", "uitofp"):
            instruction.flags = ()
        if instruction.op == "atomicrmw":
            instruction.attrs["rmw"] = instruction.attrs["rmw"].replace("imum", "")


def _translate_call(module: Module, kernel: Function, call: Instruction) -> None:
    name = call.callee_name or ""
    if name.startswith("llvm.") and not name.startswith(("llvm.mem", "llvm.lifetime")):
        return
    match name:
        case "weft.local.id" | "weft.group.id":
            what = "workitem" if name == "weft.local.id" else "workgroup"
            axis = "xyz"[_constant(call.args[0])]
            _replace(call, "zext", [_call(module, call, f"llvm.amdgcn.{what}.id.{axis}", I32, [])])
        case name if name in _SAME_FOR_GROUP:
            if name.startswith("weft.barrier."):
                _call(module, call, "llvm.amdgcn.s.barrier", VOID, [])
            index = len(kernel.args)
            size = Argument(call.type, f"{name}.{index}", index)
            kernel.args.append(size)
            _replace(call, "freeze", [size])
        case "weft.shared" | "weft.shared.dynamic":
            number = _constant(call.args[0]) if call.args else -1
            _replace(call, "freeze", [_shared(module, number)])
        case "weft.barrier" | "weft.warp.sync":
            _call(module, call, "llvm.amdgcn.s.barrier", VOID, [])
            call.erase()
        case "weft.any":
            ballot = _call(module, call, "llvm.amdgcn.ballot.i64", I64, [call.args[0]])
            _replace(call, "icmp", [ballot, ConstInt(I64, 0)], {"predicate": "ne"})
        case "weft.ballot" | "weft.active":
            operand = call.args[0] if call.args else ConstInt(I1, 1)
            ballot = _call(module, call, "llvm.amdgcn.ballot.i64", I64, [operand])
            _replace(call, "freeze", [ballot])
        case _ if name.startswith("llvm.lifetime"):
            call.erase()
        case _ if any(isinstance(a.type, PointerType) for a in call.args):
            raise CannotTranslateError(f"it calls {name}")


def _constant(value: Value) -> int:
    if not isinstance(value, ConstInt):
        raise CannotTranslateError("a dimension is not constant")
    return value.value


def _call(module: Module, before: Instruction, name: str, result: object, args: list[Value]) -> Instruction:
    fn_type = FunctionType(result, tuple(a.type for a in args))  # type: ignore[arg-type]
    callee = module.declare(name, fn_type)
    call = Instruction("call", fn_type.result, [*args, callee], attrs={"fn_type": fn_type})
    if fn_type.result is not VOID:
        call.name = f"{before.name}.{name.rpartition('.')[2]}"
        if before.name.isdigit():
            call.name = f"n{call.name}"
    assert before.block is not None
    return before.block.insert_before(before, call)


def _replace(old: Instruction, op: str, operands: list[Value], attrs: dict | None = None) -> None:
    assert old.block is not None
    type = operands[0].type if op == "freeze" else old.type
    new = Instruction(op, type, operands, name=old.name, attrs=attrs)
    old.block.insert_before(old, new)
    old.replace_all_uses(new)
    old.erase()


def _shared(module: Module, number: int) -> GlobalVariable:
    name = f"shared.{number}"
    known = module.globals.get(name)
    if known is not None:
        return known
    value_type = ArrayType(int_type(8), 1024)
    variable = GlobalVariable(name, value_type, Poison(value_type), space=_SHARED)
    variable.linkage.linkage = "internal"
    variable.linkage.align = 16
    return module.add_global(variable)


def _space_of(value: Value, spaces: dict[Value, int]) -> int | None:
    if isinstance(value, GlobalVariable):
        if value.type.space == 0 and value.is_constant:  # type: ignore[attr-defined]
            value.type = pointer(_CONSTANT)
        return value.type.space  # type: ignore[attr-defined]
    return spaces.get(value)


def _assign_spaces(kernel: Function) -> None:
    """Give each pointer the address space of what it points into."""
    spaces: dict[Value, int] = {}
    for argument in kernel.args:
        if isinstance(argument.type, PointerType):
            spaces[argument] = _GLOBAL
    for instruction in kernel.instructions():
        if instruction.op == "alloca":
            spaces[instruction] = _PRIVATE
            instruction.attrs["space"] = _PRIVATE
        elif isinstance(instruction.type, PointerType) and instruction.op not in _FORWARDING:
            raise CannotTranslateError(f"a pointer comes from {instruction.op}")
    for _ in range(2):
        for instruction in kernel.instructions():
            if isinstance(instruction.type, PointerType) and instruction.op in _FORWARDING:
                _forward(instruction, spaces)
    for value, space in spaces.items():
        value.type = pointer(space)
    for instruction in kernel.instructions():
        for position, operand in enumerate(instruction.operands):
            if isinstance(operand, (ConstNull, Poison)) and isinstance(operand.type, PointerType):
                wanted = _sibling_space(instruction, position)
                if wanted is not None:
                    instruction.set_operand(position, type(operand)(pointer(wanted)))


def _forward(instruction: Instruction, spaces: dict[Value, int]) -> None:
    operands = instruction.operands[:1] if instruction.op == "getelementptr" else instruction.operands
    found = {_space_of(v, spaces) for v in operands} - {None}
    if len(found) > 1:
        raise CannotTranslateError("pointers of several address spaces meet")
    for space in found:
        assert space is not None
        spaces[instruction] = space


def _sibling_space(instruction: Instruction, position: int) -> int | None:
    """The address space that a null operand must have: that of the result, or of the operand beside it."""
    if isinstance(instruction.type, PointerType):
        return instruction.type.space
    if instruction.op == "icmp":
        other = instruction.operands[1 - position].type
        return other.space if isinstance(other, PointerType) else None
    return None
