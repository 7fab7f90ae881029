"""Variables: global and constant memory of the module, shared memory of a work-group, stack of a thread.

Global, constant and local memory have one address space, as generic addresses have. The address of a shared variable is
a pointer of space 3; its lower 32 bits serve as an address, too, since all shared memory of a work-group lies together.
"""

from __future__ import annotations

from weft.diag.errors import PtxError, UnsupportedError
from weft.ir import ConstAggregate, ConstBytes, ConstExpr, ConstInt, GlobalVariable, Module, Value
from weft.ir.constants import ConstZero
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I8, I64, PTR, ArrayType, StructType
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.calls import function_address
from weft.ptx.lift.types import bits_of

_MODULE_SPACES = ("global", "const", "shared")


def size_of(variable: syntax.Variable) -> int:
    """Bytes of a variable; 0 for an array of unknown extent."""
    size = bits_of(variable.type) // 8 * max(variable.vector, 1)
    for extent in variable.extents:
        size *= extent or 0
    return size


def align_of(variable: syntax.Variable) -> int:
    """The alignment of a variable."""
    return variable.align or bits_of(variable.type) // 8 * max(variable.vector, 1)


def space_of(variable: syntax.Variable) -> str:
    """The state space without a bank or what follows ``::``."""
    return variable.space.partition("::")[0].partition("[")[0]


def names_of(variable: syntax.Variable) -> list[str]:
    """The names that a declaration declares."""
    if variable.count is None:
        return [variable.name]
    return [f"{variable.name}{k}" for k in range(variable.count)]


GRID = "weft.grid"
"""A variable of modules that ask for the memory by which the blocks of a grid wait for each other. It begins with the
address of such memory: 0 unless a launch sees to it that all blocks run at the same time, which puts there that of the
zeros behind, from `GRID_WORKSPACE` on. These come back to zeros of another sign by themselves."""
GRID_WORKSPACE = 64
_GRID_BYTES = 128
GRID_REGISTERS = {"%envreg1": 32, "%envreg2": 0}
"""The registers that have the address, and from which bit on."""


def _asks_for_grid(text: syntax.Module) -> bool:
    """Whether a function reads the registers by which `grid_group` finds its memory."""
    return any(
        isinstance(operand, syntax.SpecialRegister) and operand.name in GRID_REGISTERS
        for function in text.functions()
        for instruction in function.instructions()
        for operand in instruction.operands
    )


def module_variables(text: syntax.Module, module: Module) -> dict[str, Value]:
    """Make the variables of a module; return their addresses by name.

    Raises
    ------
    UnsupportedError
        One is a texture, sampler or surface.
    """
    made: dict[str, Value] = {}
    if _asks_for_grid(text) and GRID not in module.globals:
        type = ArrayType(I8, _GRID_BYTES)
        grid = module.add_global(GlobalVariable(GRID, type, ConstZero(type)))
        grid.linkage.linkage, grid.linkage.align = "internal", 64
        made[GRID] = grid
    later: list[tuple[GlobalVariable, syntax.Variable]] = []
    for variable in text.variables():
        space = space_of(variable)
        if space not in _MODULE_SPACES or variable.type not in _SIZED:
            made.pop(variable.name, None)
            continue
        for name in names_of(variable):
            if name in module.globals:
                continue
            made[name] = declared = declare_variable(module, variable, name)
            if variable.initializer is not None:
                later.append((declared, variable))
    for declared, variable in later:
        declared.initializer = _initial(text, variable, made)
        declared.value_type = declared.initializer.type
    return made


_SIZED = frozenset(
    (
        *(f"{k}{b}" for k in "bus" for b in (8, 16, 32, 64)),
        "b128",
        "f16",
        "f16x2",
        "bf16",
        "bf16x2",
        "f32",
        "f64",
    )
)


def declare_variable(module: Module, variable: syntax.Variable, name: str) -> GlobalVariable:
    """A global variable for one of PTX's in shared, global or constant memory, 0 at first."""
    space = space_of(variable)
    type = ArrayType(I8, size_of(variable))
    dynamic = space == "shared" and not type.count
    address_space = SHARED_SPACE if space == "shared" else 0
    initializer = None if dynamic else ConstZero(type)
    made = GlobalVariable(module.unused_name(name), type, initializer, space=address_space)
    made.linkage.linkage = "external" if dynamic else "internal"
    made.linkage.align = align_of(variable)
    return module.add_global(made)


def _initial(text: syntax.Module, variable: syntax.Variable, addresses: dict[str, Value]) -> Value:
    """What a variable holds at first: bytes, or bytes and addresses."""
    size = size_of(variable)
    data, places = bytearray(size), list[tuple[int, Value]]()
    width = bits_of(variable.type) // 8
    for k, item in enumerate(_flat(variable)):
        if isinstance(item, (syntax.Integer, syntax.Float)):
            data[k * width : (k + 1) * width] = item.bits(8 * width).to_bytes(width, "little")
        elif width == 8 and not item.mask and item.name in addresses:
            places.append((k * 8, _offset(addresses[item.name], item.offset)))
        elif width == 8 and not item.mask and (number := function_address(text, item.name)) is not None:
            data[k * 8 : (k + 1) * 8] = number.to_bytes(8, "little")
        else:
            raise UnsupportedError(
                f"{variable.name} begins with part of the address of {item.name}", text.span(variable)
            )
    if not places:
        return ConstBytes(ArrayType(I8, size), bytes(data))
    return _mixed(bytes(data), places)


def _offset(address: Value, offset: int) -> Value:
    if not offset:
        return address
    return ConstExpr("getelementptr", PTR, (address, ConstInt(I64, offset)), attrs={"source_type": I8})


def _mixed(data: bytes, places: list[tuple[int, Value]]) -> Value:
    """Bytes with addresses among them, as a packed struct."""
    parts: list[Value] = []
    at = 0
    for place, address in sorted(places, key=lambda pair: pair[0]):
        if place > at:
            parts.append(ConstBytes(ArrayType(I8, place - at), data[at:place]))
        parts.append(address)
        at = place + 8
    if at < len(data):
        parts.append(ConstBytes(ArrayType(I8, len(data) - at), data[at:]))
    return ConstAggregate(StructType(tuple(p.type for p in parts), packed=True), parts)


def _flat(variable: syntax.Variable) -> list[syntax.Integer | syntax.Float | syntax.Symbol]:
    """The elements of an initializer in memory's order; rows that are too short are filled with zeros."""
    extents = [extent or 0 for extent in variable.extents]
    if variable.vector:
        extents.append(variable.vector)

    def spread(
        item: syntax.Initializer | None, depth: int
    ) -> list[syntax.Integer | syntax.Float | syntax.Symbol]:
        if depth == len(extents):
            if item is None or isinstance(item, tuple | syntax.Setting):
                return [syntax.Integer(0)]
            return [item]
        rows = item if isinstance(item, tuple) else () if item is None else (item,)
        out: list[syntax.Integer | syntax.Float | syntax.Symbol] = []
        for k in range(extents[depth]):
            out += spread(rows[k] if k < len(rows) else None, depth + 1)
        return out

    return spread(variable.initializer, 0)


def address_of(body: Body, operand: syntax.Operand) -> Value:
    """The address of a symbol, or of an array's element, as a 64-bit integer.

    Raises
    ------
    PtxError
        Nothing has that name.
    """
    name = operand.name if isinstance(operand, (syntax.Symbol, syntax.Element)) else ""
    found: Value | None = body.variables.get(name)
    if found is None:
        number = function_address(body.text, name)
        if number is None:
            raise PtxError(f"{name or operand} is not declared")
        return ConstInt(I64, number)
    offset = operand.offset if isinstance(operand, syntax.Symbol) else 0
    if isinstance(operand, syntax.Element):
        offset = operand.index * body.element_bytes.get(name, 1)
    value: Value = body.builder.cast("ptrtoint", found, I64)
    if offset:
        value = body.builder.binary("add", value, ConstInt(I64, offset))
    return value


def alloca_of(body: Body, variable: syntax.Variable, name: str) -> Value:
    """Stack memory for a variable of a thread."""
    return body.builder.alloca(ArrayType(I8, max(size_of(variable), 1)), align=align_of(variable), name=name)
