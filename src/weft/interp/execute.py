"""Running functions and kernels on the interpreter."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import Struct

from weft.diag.errors import InterpError, LaunchError
from weft.interp.calls.intrinsics_weft import DYNAMIC_SHARED
from weft.interp.faults import FaultHandler
from weft.interp.frame import Frame
from weft.interp.lanes import Array, Bundle, Flags, Lanes, LaneValue, dtype_of, spread
from weft.interp.machine import DEFAULT_STEP_LIMIT, Machine
from weft.interp.memory.memory import Memory
from weft.interp.program import Image, Program
from weft.interp.threads.geometry import Dim3, Geometry
from weft.ir.constants import ConstFloat
from weft.ir.function import Function, Module
from weft.ir.intrinsics import GRID_BARRIER, SHARED_ATTRIBUTE, SPILL_SLOTS_ATTRIBUTE, asks_for_lanes
from weft.ir.types import FloatType, IntType, PointerType, Type

WARP_SIZE = 32
"""Lanes of a lane group in kernels with horizontal operations, when the launch does not say."""

MAX_LANES = 1 << 15
"""Lanes that run at once: several small work-groups side by side."""

_RECURSION_LIMIT = 20_000

Argument = int | float | bool | complex | np.generic | np.ndarray | LaneValue


class Outcome(Struct):
    """What a function returned: one value per lane (None for ``void``), and the memory it ran in."""

    value: LaneValue | None
    memory: Memory

    @property
    def data(self) -> Array:
        """The returned scalars or vectors."""
        assert isinstance(self.value, Lanes), "the function returns no scalar"
        return self.value.data

    @property
    def flags(self) -> Flags:
        assert isinstance(self.value, Lanes), "the function returns no scalar"
        return self.value.flags


def run_function(
    program: Module | Program | Image,
    name: str,
    arguments: Sequence[Argument],
    width: int,
    *,
    semantics: str = "FR",
    memory: Memory | None = None,
    hooks: Iterable[object] = (),
    faults: FaultHandler | None = None,
    step_limit: int = DEFAULT_STEP_LIMIT,
    active: Array | None = None,
    geometry: Geometry | None = None,
) -> Outcome:
    """Run a function with W = `width` threads, as one lane group unless `geometry` says more.

    Parameters
    ----------
    program
        The module, or a `Program` made of it to decode its functions only once, or an `Image` of that, whose
        global variables keep their values from run to run.
    arguments
        Per parameter one value for all threads, or an array with one row per thread. Pointers are addresses,
        as `Memory.map_array` and `Memory.allocate` give them. A `Lanes` or `Bundle` is taken as it is.
    semantics
        ``"FR"`` (passive threads keep their values) or ``"OBL"`` (they get ⊤); Moll, §3.6.
    memory
        Where the program's objects live; a new one by default.
    active
        The threads that call the function; all by default.
    geometry
        Lane groups and work-groups side by side, of lane groups of `width`.
    """
    image = program if isinstance(program, Image) else _image(program, memory)
    program = image.program
    function = program.function(name)
    geometry = geometry or Geometry((1, 1, 1), (width, 1, 1), width=width)
    machine = Machine(
        image, geometry, oblivious=_is_oblivious(semantics), hooks=hooks, faults=faults, step_limit=step_limit
    )
    _declare_shared(machine, function, 0)
    if active is not None:
        machine.restrict(active)
    values = _argument_values(function, arguments, geometry.lanes)
    with _numeric_environment():
        result = Frame(machine, program.code(function), is_kernel=True).run(values, machine.everyone)
    return Outcome(None if result is None else spread(result, geometry.lanes), image.memory)


def _image(program: Module | Program, memory: Memory | None) -> Image:
    return Image(program if isinstance(program, Program) else Program(program), memory or Memory())


def launch(
    program: Module | Program,
    name: str,
    arguments: Sequence[Argument],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *,
    memory: Memory | None = None,
    dynamic_shared: int = 0,
    width: int | None = None,
    semantics: str = "FR",
    hooks: Iterable[object] = (),
    faults: FaultHandler | None = None,
    step_limit: int = DEFAULT_STEP_LIMIT,
    at_once: int | None = None,
) -> Memory:
    """Run a kernel for every thread of a grid of work-groups; returns the memory it ran in.

    Parameters
    ----------
    arguments
        One value per parameter of the function: numbers, addresses, or NumPy arrays, which stand for the
        address of their first element and become accessible to the kernel.
    grid, block
        Groups of the grid and threads of a group: up to three extents, x first.
    memory
        Memory with the objects the arguments refer to.
    dynamic_shared
        Bytes of dynamic shared memory for each group.
    width
        Lanes of a lane group. By default 32 for programs with horizontal operations, else the whole group.
    semantics
        ``"FR"`` or ``"OBL"``.
    at_once
        Work-groups that run side by side at most; by default as many as there is room for. All do where they wait for
        each other.
    """
    program = program if isinstance(program, Program) else Program(program)
    function = program.function(name)
    memory = memory or Memory()
    arguments = [_mapped(memory, a, position) for position, a in enumerate(arguments)]
    grid3, block3 = _extents(grid, "grid"), _extents(block, "block")
    groups, padded, width = group_layout(program, grid3, block3, width)
    image = Image(program, memory)
    batch = max(1, min(groups, MAX_LANES // padded if at_once is None else at_once))
    if GRID_BARRIER in program.module.functions:
        batch = groups
    hooks = tuple(hooks)
    with _numeric_environment():
        for first in range(0, groups, batch):
            geometry = Geometry(grid3, block3, first, min(batch, groups - first), width)
            machine = Machine(
                image,
                geometry,
                oblivious=_is_oblivious(semantics),
                hooks=hooks,
                faults=faults,
                step_limit=step_limit,
            )
            _declare_shared(machine, function, dynamic_shared)
            values = _argument_values(function, arguments, machine.lanes)
            Frame(machine, program.code(function), is_kernel=True).run(values, machine.everyone)
            for made in reversed(machine.shared.values()):
                memory.remove(made)
    return memory


def group_layout(
    program: Program, grid: int | Sequence[int], block: int | Sequence[int], width: int | None
) -> tuple[int, int, int]:
    """Groups of a launch, lanes that a group takes, and lanes of a lane group."""
    gx, gy, gz = _extents(grid, "grid")
    bx, by, bz = _extents(block, "block")
    threads = bx * by * bz
    if width is None:
        width = WARP_SIZE if asks_for_lanes(program.module) else threads
    return gx * gy * gz, -(-threads // width) * width, width


def _mapped(memory: Memory, argument: Argument, position: int) -> Argument:
    if isinstance(argument, np.ndarray):
        return memory.map_array(argument, f"argument {position}")
    return argument


def _extents(extents: int | Sequence[int], what: str) -> Dim3:
    given = (extents,) if isinstance(extents, int) else tuple(int(e) for e in extents)
    if not 1 <= len(given) <= 3 or any(e < 1 for e in given):
        raise LaunchError(f"the {what} needs one to three positive extents, not {extents!r}")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _is_oblivious(semantics: str) -> bool:
    if semantics not in ("FR", "OBL"):
        raise InterpError(f"semantics are 'FR' or 'OBL', not {semantics!r}")
    return semantics == "OBL"


_DYNAMIC_ALIGN = 128
"""What dynamic shared memory begins at a multiple of: vectors of 16 doubles ask for it."""


def _declare_shared(machine: Machine, kernel: Function, dynamic: int) -> None:
    """Note the kernel's static shared objects (``"weft.shared"="bytes:align,..."``) and the dynamic one."""
    for number, text in enumerate(filter(None, (kernel.attribute(SHARED_ATTRIBUTE) or "").split(","))):
        size, _, align = text.partition(":")
        machine.shared_sizes[number] = (int(size), int(align or 1))
    machine.shared_sizes[DYNAMIC_SHARED] = (dynamic, _DYNAMIC_ALIGN)
    slots = kernel.attribute(SPILL_SLOTS_ATTRIBUTE)
    machine.spill_slots = None if slots is None else int(slots)


def _argument_values(function: Function, arguments: Sequence[Argument], lanes: int) -> list[LaneValue]:
    if len(arguments) != len(function.args):
        raise InterpError(f"@{function.name} takes {len(function.args)} arguments, not {len(arguments)}")
    return [_argument_value(p.type, a, lanes) for p, a in zip(function.args, arguments, strict=True)]


def _argument_value(type: Type, argument: Argument, lanes: int) -> LaneValue:
    if isinstance(argument, (Lanes, Bundle)):
        return argument
    if isinstance(argument, np.ndarray):
        dtype = dtype_of(type)
        if argument.dtype.kind == "i" and dtype.kind == "u":
            argument = argument.view(f"u{argument.dtype.itemsize}")
        data = argument.astype(dtype)
        if isinstance(type, IntType) and 1 < type.bits < data.dtype.itemsize * 8:
            data = data & data.dtype.type((1 << type.bits) - 1)
        assert data.shape[0] in (1, lanes), f"an argument has {data.shape[0]} rows for {lanes} lanes"
        return Lanes(data)
    if isinstance(type, FloatType):
        bits = ConstFloat.of(type, float(argument)).bits  # type: ignore[arg-type]
        raw = np.array([bits], f"u{type.bits // 8}")
        return Lanes(raw if type.kind == "bfloat" else raw.view(dtype_of(type)))
    if isinstance(type, (IntType, PointerType)):
        bits = type.bits if isinstance(type, IntType) else 64
        return Lanes(np.array([int(argument) & ((1 << bits) - 1)], dtype_of(type)))  # type: ignore[arg-type]
    raise InterpError(f"give an argument of type {type} as a lane value")


@contextmanager
def _numeric_environment() -> Iterator[None]:
    """Float exceptions are no errors in LLVM, and calls of the program nest calls of the interpreter."""
    with _deep_recursion, np.errstate(all="ignore"):
        yield


class _DeepRecursion:
    """Python's limit on recursion, which all threads share, raised until the last run is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._runs:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _RECURSION_LIMIT))
            self._runs += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._runs -= 1
            if not self._runs:
                sys.setrecursionlimit(self._before)


_deep_recursion = _DeepRecursion()
# A thread that the child of a fork does not have may hold the lock.
os.register_at_fork(after_in_child=_deep_recursion.__init__)
