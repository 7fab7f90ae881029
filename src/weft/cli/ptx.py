"""``weft ptx``: a kernel in Python, OpenCL C or CUDA C++ as PTX, for NVIDIA's GPUs."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from weft.aot.importing import import_file
from weft.cli.programs import compiled_types, kernels_of
from weft.cuda.c.module import Module
from weft.cuda.to_ptx import ptx_of as python_ptx
from weft.device.ptx import ptx_of as device_ptx
from weft.diag.errors import SignatureError
from weft.opencl import Program
from weft.ptx_kernel import PtxKernel
from weft.switches import DEFAULT_REPLACEMENT, SCALAR_REPLACEMENT

_PTX = "weft ptx"


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("ptx", help="a kernel as PTX, for NVIDIA's GPUs", description=__doc__)
    parser.add_argument(
        "file", metavar="FILE", help="a .py file with kernels, OpenCL C (.cl) or CUDA C++ (.cu)"
    )
    parser.add_argument("--kernel", metavar="K", help="which kernel; may be left out where there is one")
    parser.add_argument(
        "--types",
        metavar="SIG",
        help='its argument types, "void(float32[::1], int32)"; by default as declared',
    )
    parser.add_argument("--arch", metavar="ARCH", default="sm_75", help="sm_75, sm_90, ...; sm_75 by default")
    parser.add_argument(
        "-o", metavar="OUT", dest="output", help="where to write it; standard output by default"
    )
    parser.add_argument(
        "--clang",
        metavar="OPTION",
        action="append",
        default=[],
        help="a build option of OpenCL C or CUDA C++ (repeatable)",
    )
    parser.add_argument(
        "--scalar-replacement",
        choices=SCALAR_REPLACEMENT,
        help="by which policy loads are replaced (docs/scalar_replacement.md); by default the kernel's own",
    )
    parser.add_argument("--max-registers", metavar="N", type=int, help="the kernel's .maxnreg")
    parser.add_argument("--no-lines", action="store_true", help="leave out the lines of the source (.loc)")
    parser.add_argument(
        "--parameters", action="store_true", help="print which argument is in which parameter, not the PTX"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the kernel; 2 for wrong usage."""
    file = Path(options.file)
    if not file.is_file() or file.suffix not in (".py", ".cl", ".cu"):
        print(
            f"{_PTX}: {options.file} is no file in Python (.py), OpenCL C (.cl) or CUDA C++ (.cu)",
            file=sys.stderr,
        )
        return 2
    if file.suffix != ".py" and options.types is not None:
        print(f"{_PTX}: --types is for .py files; others have their types", file=sys.stderr)
        return 2
    made = _of_python(file, options) if file.suffix == ".py" else _of_c(file, options)
    text = made.table() if options.parameters else made.text
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(options.output).write_text(text)
    except OSError as error:
        print(f"{_PTX}: {options.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _of_python(file: Path, options: argparse.Namespace) -> PtxKernel:
    kernels = kernels_of(import_file(file), [options.kernel] if options.kernel else [])
    (kernel,) = _only(file, kernels).values()
    return python_ptx(
        kernel.py_func,
        compiled_types(kernel, options.types),
        options.arch,
        fastmath=kernel.fastmath,
        lines=not options.no_lines,
        max_registers=options.max_registers,
        scalar_replacement=options.scalar_replacement or kernel.scalar_replacement,
    )


def _of_c(file: Path, options: argparse.Namespace) -> PtxKernel:
    given = shlex.join(options.clang)
    if file.suffix == ".cl":
        program = Program(file, given)
        origin = program.kernel(_chosen(file, program.kernel_names, options)).origin
    else:
        module = Module(file, given)
        origin = module[_chosen(file, module.kernel_names, options)].origin
    return device_ptx(
        origin,
        options.arch,
        lines=not options.no_lines,
        max_registers=options.max_registers,
        scalar_replacement=options.scalar_replacement or DEFAULT_REPLACEMENT,
    )


def _chosen(file: Path, names: Sequence[str], options: argparse.Namespace) -> str:
    (name,) = _only(file, dict.fromkeys([options.kernel] if options.kernel else names))
    return name


_Kernels = TypeVar("_Kernels", bound=Mapping[str, Any])


def _only(file: Path, kernels: _Kernels) -> _Kernels:
    """The kernels of a file, if they are one."""
    if len(kernels) == 1:
        return kernels
    if not kernels:
        raise SignatureError(f"{file} defines no kernel")
    raise SignatureError(
        f"{file} has several kernels", hint=f"choose one with --kernel: {', '.join(kernels)}"
    )
