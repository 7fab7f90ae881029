"""``weft ptx``: a kernel of a Python file as PTX, for NVIDIA's GPUs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from weft.cli.programs import compiled_types, import_file, kernels_of
from weft.cuda.ptx import PtxKernel, parameter_table, ptx_of
from weft.diag.errors import SignatureError

_PTX = "weft ptx"


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("ptx", help="a kernel as PTX, for NVIDIA's GPUs", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="a .py file with kernels")
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
    parser.add_argument("--max-registers", metavar="N", type=int, help="the kernel's .maxnreg")
    parser.add_argument("--no-lines", action="store_true", help="leave out the lines of the source (.loc)")
    parser.add_argument(
        "--parameters", action="store_true", help="print which argument is in which parameter, not the PTX"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the kernel; 2 for wrong usage."""
    file = Path(options.file)
    if not file.is_file() or file.suffix != ".py":
        print(f"{_PTX}: {options.file} is no Python file", file=sys.stderr)
        return 2
    made = _compile(file, options)
    text = parameter_table(made) if options.parameters else made.text
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(options.output).write_text(text)
    except OSError as error:
        print(f"{_PTX}: {options.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _compile(file: Path, options: argparse.Namespace) -> PtxKernel:
    kernels = kernels_of(import_file(file), [options.kernel] if options.kernel else [])
    if len(kernels) > 1:
        raise SignatureError(
            f"{file} has several kernels", hint=f"choose one with --kernel: {', '.join(kernels)}"
        )
    (kernel,) = kernels.values()
    return ptx_of(
        kernel.py_func,
        compiled_types(kernel, options.types),
        options.arch,
        fastmath=kernel.fastmath,
        lines=not options.no_lines,
        max_registers=options.max_registers,
    )
