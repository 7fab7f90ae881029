"""Work-item identity as parameters.

Precondition: ids, sizes and shared memory are calls of weft intrinsics. Postcondition: no function reachable
from the kernel calls them; each function that did, or that calls one that did, has the parameters of
`WORK_ITEM_PARAMETERS` appended and reads those. Karrenberg and Hack §2.2: ids are values of the work-item
loops, never calls; a vectorized kernel then is a function whose parameter ``tid.<d>`` has a strided shape and
all the others are uniform. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Argument, ConstInt, Function, Instruction, Module, Value
from weft.ir.builder import Builder
from weft.ir.intrinsics import SHARED_ATTRIBUTE, SHARED_SPACE
from weft.ir.types import I8, I64, Type, pointer


class WorkItemParameter(Struct, frozen=True):
    """One appended parameter, and the intrinsic call with constant argument `dimension` that it stands for.

    `limits` is what LLVM may know of its values beside the type.
    """

    name: str
    type: Type
    intrinsic: str
    dimension: int | None
    limits: tuple[str, ...] = ()


_SHARED = pointer(SHARED_SPACE)
_BELOW_1024, _TO_1024 = ("range(i64 0, 1024)",), ("range(i64 1, 1025)",)
_BELOW_2_31, _TO_2_31 = ("range(i64 0, 2147483648)",), ("range(i64 1, 2147483649)",)
WORK_ITEM_PARAMETERS: tuple[WorkItemParameter, ...] = (
    *(WorkItemParameter(f"tid.{d}", I64, "weft.local.id", i, _BELOW_1024) for i, d in enumerate("xyz")),
    *(WorkItemParameter(f"gid.{d}", I64, "weft.group.id", i, _BELOW_2_31) for i, d in enumerate("xyz")),
    *(WorkItemParameter(f"lsize.{d}", I64, "weft.local.size", i, _TO_1024) for i, d in enumerate("xyz")),
    *(WorkItemParameter(f"groups.{d}", I64, "weft.num.groups", i, _TO_2_31) for i, d in enumerate("xyz")),
    WorkItemParameter("shared", _SHARED, "weft.shared", None),
    WorkItemParameter("shared.dynamic", _SHARED, "weft.shared.dynamic", None),
    WorkItemParameter("shared.dynamic.size", I64, "weft.shared.dynamic.size", None, _BELOW_2_31),
)
_INTRINSICS = {p.intrinsic for p in WORK_ITEM_PARAMETERS}
_NAMES = [p.name for p in WORK_ITEM_PARAMETERS]

ThreeArguments = tuple[Argument, Argument, Argument]
"""Along x, y and z."""


class WorkItems(Struct, frozen=True):
    """The parameters of `WORK_ITEM_PARAMETERS` in a function.

    Parameters
    ----------
    tid, gid
        The position of the thread in its work-group, and that of the work-group in the grid.
    lsize, groups
        The threads of a work-group, and the work-groups of the grid.
    shared, shared_dynamic, shared_dynamic_size
        Where the memory of the work-group begins, where the part begins whose size the launch tells, and that size.
    """

    tid: ThreeArguments
    gid: ThreeArguments
    lsize: ThreeArguments
    groups: ThreeArguments
    shared: Argument
    shared_dynamic: Argument
    shared_dynamic_size: Argument

    @classmethod
    def find(cls, function: Function) -> WorkItems | None:
        """The parameters of `function`; None where it has none."""
        args, count = function.args, len(_NAMES)
        # They are appended, so that only other appended ones are behind them.
        for first in range(len(args) - count, -1, -1):
            if args[first].name != _NAMES[0]:
                continue
            found = args[first : first + count]
            if [a.name for a in found] == _NAMES:
                tid, gid, lsize, groups = ((found[k], found[k + 1], found[k + 2]) for k in range(0, 12, 3))
                return cls(tid, gid, lsize, groups, *found[12:])
        return None

    @classmethod
    def of(cls, function: Function) -> WorkItems:
        """The parameters of a function that has them."""
        found = cls.find(function)
        assert found is not None, f"{function!r} has no work-item parameters"
        return found


def shared_layout(kernel: Function) -> tuple[tuple[int, ...], int]:
    """The byte offset of each static shared object of `kernel`, and the bytes of them all (a multiple of 128)."""
    text = kernel.attribute(SHARED_ATTRIBUTE) or ""
    offsets: list[int] = []
    end = 0
    for item in filter(None, text.split(",")):
        size, align = (int(part) for part in item.split(":"))
        end = -(-end // align) * align
        offsets.append(end)
        end += size
    return tuple(offsets), -(-end // 128) * 128


def lower_work_items(module: Module, kernel: Function) -> None:
    """Append the parameters to `kernel` and to every function that needs them, and use them."""
    users = _functions_that_ask(module)
    users.add(kernel)
    offsets, _ = shared_layout(kernel)
    parameters = {f: _append_parameters(f) for f in users}
    for function in users:
        own = parameters[function]
        for call in [i for i in function.instructions() if i.op == "call"]:
            callee = call.callee
            if callee in users:
                _pass_on(call, own)
            elif call.callee_name in _INTRINSICS:
                _replace(call, own, offsets)


def _functions_that_ask(module: Module) -> set[Function]:
    """Functions that call an id intrinsic, or a function that does."""
    callers: dict[Function, set[Function]] = {}
    asking: set[Function] = set()
    for function in module.definitions():
        for instruction in function.instructions():
            if instruction.callee_name in _INTRINSICS:
                asking.add(function)
            elif instruction.op == "call" and isinstance(instruction.callee, Function):
                callers.setdefault(instruction.callee, set()).add(function)
    work = list(asking)
    while work:
        for caller in callers.get(work.pop(), ()):
            if caller not in asking:
                asking.add(caller)
                work.append(caller)
    return asking


def _append_parameters(function: Function) -> dict[tuple[str, int | None], Argument]:
    result: dict[tuple[str, int | None], Argument] = {}
    for parameter in WORK_ITEM_PARAMETERS:
        attributes = ("noundef", *parameter.limits)
        argument = function.append_parameter(parameter.type, parameter.name, attributes)
        result[parameter.intrinsic, parameter.dimension] = argument
    return result


def _pass_on(call: Instruction, own: dict[tuple[str, int | None], Argument]) -> None:
    callee = call.callee
    assert isinstance(callee, Function)
    tail = call.operands[len(call.args) :]
    call.set_operands([*call.args, *own.values(), *tail])
    call.attrs["fn_type"] = callee.fn_type
    if call.attrs.get("arg_attrs"):
        call.attrs["arg_attrs"] = (*call.attrs["arg_attrs"], *((),) * len(own))


def _replace(
    call: Instruction, own: dict[tuple[str, int | None], Argument], shared_offsets: tuple[int, ...]
) -> None:
    name = call.callee_name
    assert name is not None
    value: Value
    if name in ("weft.shared.dynamic", "weft.shared.dynamic.size"):
        value = own[name, None]
    else:
        index = call.args[0]
        assert isinstance(index, ConstInt), f"the argument of {name} is no constant"
        if name == "weft.shared":
            offset = shared_offsets[index.value]
            value = Builder(before=call).gep(I8, own[name, None], (ConstInt(I64, offset),), ("inbounds",))
        else:
            value = own[name, index.value]
    call.replace_all_uses(value)
    call.erase()
