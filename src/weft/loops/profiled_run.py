"""Runs of the user's program on the interpreter, for ``weft loops --profile``.

A C program is its ``main``, of the file itself or of a second one that is linked to it. Of a Python script the calls
of the file's functions are taken; the script itself runs as it does without weft, and the functions are run once more
on the interpreter, with copies of the arguments that they had.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
from msgspec import Struct, field

from weft import interp
from weft.diag.errors import ArgumentError, UnsupportedError, WeftError
from weft.diag.source import SourceSpan
from weft.frontend.python.compile import FrontendResult
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType
from weft.ir import Function, Module
from weft.loops.observer import LoopObserver
from weft.runtime.parameters import packer_for
from weft.tiled_arrays import TiledArray

MAX_CALLS = 16
"""Calls of a function for each choice of argument types that are run again."""

STEPS = 20_000_000
"""Blocks that a run on the interpreter may have."""


class Calls(Struct):
    """The calls of a function with arguments of the same types.

    Parameters
    ----------
    function, types
        What was called.
    arguments
        Of the first calls, copies of what was passed.
    times
        How often it was called.
    """

    function: Any
    types: tuple[KernelType, ...]
    arguments: list[tuple[Any, ...]] = field(default_factory=list)
    times: int = 0


def run_c_program(module: Module, file: str) -> LoopObserver:
    """Run ``main`` with the file's name for its only argument.

    Raises
    ------
    WeftError
        There is no ``main``, or it does what the interpreter cannot, or something undefined.
    """
    main = module.functions.get("main")
    if main is None or not main.blocks:
        raise ArgumentError(
            f"{file} has no function main", hint="name a file that has one: --profile driver.c"
        )
    memory = interp.Memory()
    observer = LoopObserver()
    arguments = _main_arguments(main, memory, file)
    with contextlib.redirect_stdout(sys.stderr):
        interp.run_function(module, "main", arguments, 1, memory=memory, hooks=[observer], step_limit=STEPS)
    observer.finish()
    return observer


def _main_arguments(main: Function, memory: interp.Memory, file: str) -> list[int]:
    if not main.args:
        return []
    text = np.frombuffer(file.encode() + b"\0", np.uint8).copy()
    vector = np.array([memory.map_array(text), 0], np.uint64)
    return [1, memory.map_array(vector), 0][: len(main.args)]


def run_calls(
    module: Module, name: str, made: FrontendResult, calls: Calls
) -> tuple[LoopObserver, Mapping[str, int]]:
    """Run the calls of a Python function on the interpreter.

    Returns
    -------
    What was seen, and the integers that were the same in all calls, by the names of IR parameters.

    Raises
    ------
    WeftError
        The function makes arrays, or does something undefined.
    """
    function = module.functions[name]
    code = calls.function.__code__
    if made.allocates:
        raise UnsupportedError(
            f"{calls.function.__name__} makes arrays, and cannot be run on the interpreter",
            SourceSpan(code.co_filename, code.co_firstlineno),
        )
    observer = LoopObserver()
    packer = packer_for(calls.function.__name__, code.co_varnames[: code.co_argcount], calls.types)
    program = interp.Program(module)
    seen: dict[str, set[int]] = {}
    for arguments in calls.arguments:
        memory = interp.Memory()
        for array in _arrays(arguments):
            memory.map_array(array)
        slots: list[Any] = list(packer.pack(arguments))
        # Places of results.
        slots += [memory.map_array(np.zeros(16, np.uint8)) for _ in function.args[len(slots) :]]
        for argument, value in zip(function.args, slots, strict=True):
            if isinstance(value, int | np.integer):
                seen.setdefault(argument.name, set()).add(int(value))
        interp.run_function(program, name, slots, 1, memory=memory, hooks=[observer], step_limit=STEPS)
        observer.finish()
    return observer, {n: next(iter(v)) for n, v in seen.items() if len(v) == 1}


def _arrays(values: Sequence[Any]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, TiledArray):
            yield value.memory
        elif isinstance(value, tuple):
            yield from _arrays(value)


def take_calls(
    script: Path, file: Path, module: ModuleType, functions: Mapping[str, FunctionType]
) -> list[Calls]:
    """Run a script, and note the calls of functions of a file.

    The script may import the file, or be it; what weft would compile runs as plain Python.

    Raises
    ------
    UnsupportedError
        The script raises an exception.
    """
    taken: dict[tuple[CodeType, tuple[KernelType, ...]], Calls] = {}
    by_place = {(f.__code__.co_name, f.__code__.co_firstlineno): f for f in functions.values()}
    name_of_file = str(file)

    def watch(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename != name_of_file:
            return
        function = by_place.get((code.co_name, code.co_firstlineno))
        if function is not None:
            _take(taken, function, [frame.f_locals[n] for n in code.co_varnames[: code.co_argcount]])

    for name, function in functions.items():
        if getattr(module, name, None) is not function:
            setattr(module, name, function)
    kept = sys.argv, sys.path[:]
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.resolve().parent))
    sys.modules[file.stem] = module
    sys.setprofile(watch)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        if stop.code:
            raise UnsupportedError(f"{script} ends with exit status {stop.code}") from None
    except WeftError:
        raise
    except Exception as error:
        raise UnsupportedError(f"{script} raises {type(error).__name__}: {error}") from error
    finally:
        sys.setprofile(None)
        sys.argv, sys.path[:] = kept
    return list(taken.values())


def _take(
    taken: dict[tuple[CodeType, tuple[KernelType, ...]], Calls], function: FunctionType, values: list[Any]
) -> None:
    try:
        types = tuple(typeof(value) for value in values)
    except WeftError:
        return
    calls = taken.setdefault((function.__code__, types), Calls(function, types))
    calls.times += 1
    if len(calls.arguments) < MAX_CALLS:
        calls.arguments.append(_copies(values))


def _copies(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of arguments; an array that is passed twice is one array again."""
    known: dict[int, np.ndarray | TiledArray] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, TiledArray):
            return known.setdefault(id(value), value.copy())
        if isinstance(value, np.ndarray):
            if id(value) not in known:
                known[id(value)] = value.copy(order="K")
            return known[id(value)]
        return tuple(map(copy, value)) if isinstance(value, tuple) else value

    return tuple(map(copy, values))
