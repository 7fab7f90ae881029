"""``weft run``: launch a kernel of a file in OpenCL C on arrays from files."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.cli.switches import add_switches
from weft.opencl import LocalMemory, Program

_RUN = "weft run"
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?f?")


class UsageError(Exception):
    """The command line asks for something that there is not."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="launch a kernel in OpenCL C", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="a program in OpenCL C (.cl)")
    parser.add_argument("--kernel", metavar="K", help="which kernel; may be left out where there is one")
    parser.add_argument(
        "--global",
        metavar="X,Y,Z",
        dest="size",
        type=_extents,
        required=True,
        help="work-items of the launch",
    )
    parser.add_argument(
        "--local",
        metavar="X,Y,Z",
        type=_extents,
        help="work-items of a work-group; chosen where it is left out",
    )
    parser.add_argument("--offset", metavar="X,Y,Z", type=_extents, help="the first id, 0 unless told")
    parser.add_argument(
        "--arg",
        metavar="ARG",
        action="append",
        default=[],
        help="an argument, in order: FILE.npy, a number (3.5f, 7), the numbers of a vector (1,2,3,4), local:BYTES,"
        " out:DTYPE:SHAPE for an array of zeros (out:float32:1024x768), or null",
    )
    parser.add_argument(
        "--out",
        metavar="N=FILE",
        action="append",
        default=[],
        type=_output,
        help="write argument N, counted from 0, to a .npy file behind the launch (repeatable)",
    )
    parser.add_argument(
        "--build", metavar="OPTIONS", default="", help='build options: "-cl-std=CL3.0 -DN=16"'
    )
    parser.add_argument(
        "--debug", action="store_true", help="run on the interpreter, and report what has no defined meaning"
    )
    parser.add_argument(
        "--width", metavar="W", type=int, help="work-items in a lane group; weft chooses by default"
    )
    parser.add_argument(
        "--brush", metavar="MxN", help="work-items in a lane group along y and x, or z, y and x, as in 4x16"
    )
    parser.add_argument(
        "--projection", metavar="P", help="the brush's dimensions in the order of lanes, as in 1,0"
    )
    add_switches(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Launch the kernel; 2 for wrong usage."""
    try:
        return _launch(options)
    except UsageError as error:
        print(f"{_RUN}: {error}", file=sys.stderr)
        return 2


def _launch(options: argparse.Namespace) -> int:
    file = Path(options.file)
    if not file.is_file():
        raise UsageError(f"there is no file {options.file}")
    program = Program(
        file, options.build, debug=options.debug, width=options.width, brush=options.brush,
        projection=options.projection, boscc=options.boscc,
        uniform_values=options.uniform_values, uniform_control=options.uniform_control,
        scalar_counters=options.scalar_counters, scalar_replacement=options.scalar_replacement,
        without=options.without,
    )  # fmt: skip
    if program.log:
        print(program.log, end="", file=sys.stderr)
    name = options.kernel or _only(program)
    arguments = [_argument(text) for text in options.arg]
    for number, _ in options.out:
        if not 0 <= number < len(arguments) or not isinstance(arguments[number], np.ndarray):
            raise UsageError(f"--out {number}=...: argument {number} is no array")
    start = time.perf_counter()
    program.kernel(name)(options.size, options.local, *arguments, global_offset=options.offset)
    seconds = time.perf_counter() - start
    for number, path in options.out:
        try:
            np.save(path, arguments[number])
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    extents = " x ".join(map(str, options.size))
    print(f"{name}: {extents} work-items, {1e3 * seconds:.1f} ms with compiling", file=sys.stderr)
    return 0


def _only(program: Program) -> str:
    if len(program.kernel_names) != 1:
        listed = ", ".join(program.kernel_names) or "none"
        raise UsageError(f"choose a kernel with --kernel: there are {listed}")
    return program.kernel_names[0]


def _argument(text: str) -> Any:
    kind, _, rest = text.partition(":")
    if text == "null":
        return None
    if kind == "local":
        return LocalMemory(_integer(rest, text))
    if kind == "out":
        return _zeros(rest, text)
    numbers = [_number(part) for part in text.split(",")]
    if all(number is not None for number in numbers):
        return numbers[0] if len(numbers) == 1 else numbers
    try:
        return np.load(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--arg {text}: no number, and no array in a .npy file ({error})") from None


def _number(text: str) -> int | float | None:
    try:
        return int(text, 0)
    except ValueError:
        return float(text.rstrip("f")) if _FLOAT.fullmatch(text) else None


def _integer(text: str, whole: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"--arg {whole}: {text!r} is no number of bytes") from None


def _zeros(text: str, whole: str) -> np.ndarray[Any, Any]:
    dtype, _, shape = text.partition(":")
    try:
        return np.zeros(tuple(int(extent) for extent in shape.split("x")), np.dtype(dtype))
    except (TypeError, ValueError):
        raise UsageError(f"--arg {whole}: write out:DTYPE:SHAPE, as in out:float32:1024x768") from None


def _extents(text: str) -> Sequence[int]:
    try:
        extents = tuple(int(part) for part in text.split(","))
    except ValueError:
        extents = ()
    if not 1 <= len(extents) <= 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three integers, as in 1024,768")
    return extents


def _output(text: str) -> tuple[int, str]:
    number, _, path = text.partition("=")
    if not number.isdigit() or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is no N=FILE")
    return int(number), path
