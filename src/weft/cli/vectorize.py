"""``weft vectorize``: SIMD code from a function of LLVM IR or C, or from the parallel loops in it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from weft.cli.switches import add_switches, switches_of
from weft.loops.llvm_ir import MASKS, VectorizedIR, vectorize_ir

_OUTPUTS = (".ll", ".bc", ".s", ".o")


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "vectorize",
        help="SIMD code from LLVM IR or C: whole functions and parallel loops",
        description=__doc__,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="LLVM text (.ll), bitcode (.bc), C or C++")
    parser.add_argument(
        "--function",
        metavar="NAME",
        help="the function; by default all that are marked with #pragma omp declare simd",
    )
    parser.add_argument(
        "--width", metavar="W", type=int, help="lanes; by default those of a register of 32-bit values"
    )
    parser.add_argument(
        "--args",
        metavar="SHAPES",
        default="",
        help="shapes of the arguments joined by _: U uniform, C contiguous, T varying, S<k> stride k, C and S with n"
        " where lanes' numbers do not wrap around, each with a<n> for an alignment; r<shape> for the result; missing"
        " ones are uniform",
    )
    parser.add_argument(
        "--shape",
        metavar="GLOBAL=SHAPE",
        action="append",
        default=[],
        type=_global_shape,
        help="shape of a global variable: U one for all lanes, C each lane's own one behind the other, S<k> k bytes"
        " apart (repeatable)",
    )
    parser.add_argument(
        "--uniform",
        metavar="NAME",
        action="append",
        default=[],
        help="a function without a body that gives all lanes the same result for the same arguments (repeatable)",
    )
    parser.add_argument("--mask", choices=MASKS, default="none", help="whether the last argument is a mask")
    parser.add_argument(
        "--loop",
        metavar="LOOP",
        help="vectorize loops instead: 'auto', 'outermost', 'annotated', 'nest' (see --brush) or a header's name",
    )
    parser.add_argument(
        "--brush",
        metavar="MxN",
        help="lanes along each loop of a nest, outermost first, as in 4x8; else weft chooses",
    )
    parser.add_argument(
        "--projection",
        metavar="D,D",
        help="the order in which these fill the lanes: 1,0 for the inner loop first",
    )
    parser.add_argument("--name", metavar="NAME", help="the SIMD function's name")
    parser.add_argument("--target", metavar="CPU", default="host", help="host, or an instruction set")
    parser.add_argument("--fastmath", action="store_true", help="allow float sums in another order")
    parser.add_argument("--clang", metavar="OPTION", action="append", default=[], help="an option for clang")
    add_switches(parser)
    parser.add_argument(
        "--check-with",
        metavar="VALUES",
        type=_values,
        help="check each pass on the interpreter with these arguments, joined by commas: numbers, and .npy files for"
        " pointers; WEFT_CHECK=1 checks with arguments that are made up",
    )
    parser.add_argument("--remarks", action="store_true", help="say what was decided")
    parser.add_argument("--header", metavar="OUT", type=Path, help="write the function's declaration in C")
    parser.add_argument("-o", dest="output", metavar="OUT", type=Path, help="a .ll, .bc, .s or .o file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Vectorize, and write what was asked for; 2 for wrong usage."""
    output: Path | None = options.output
    if output is not None and output.suffix not in _OUTPUTS:
        print(f"weft vectorize: {output} should end in one of {', '.join(_OUTPUTS)}", file=sys.stderr)
        return 2
    made = vectorize_ir(
        options.file,
        options.function,
        width=options.width,
        brush=options.brush,
        projection=options.projection,
        args=options.args,
        mask=options.mask,
        loop=options.loop,
        name=options.name,
        target=options.target,
        fastmath=options.fastmath,
        clang_options=options.clang,
        shapes=dict(options.shape),
        uniform=options.uniform,
        boscc=options.boscc,
        switches=switches_of(options),
        check_with=options.check_with,
    )
    if options.remarks or (options.loop is not None and not made.loops):
        # That no loop became SIMD code, and why, is not left unsaid.
        print(made.remarks, file=sys.stderr)
    try:
        if options.header is not None:
            options.header.write_bytes(made.header.encode("utf-8", errors="backslashreplace"))
        if output is not None:
            _write(made, output)
    except OSError as error:
        print(f"weft vectorize: {error.filename} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    if output is None:
        print(made.llvm)
    return 0


def _values(text: str) -> list[Any]:
    """Arguments to check with."""
    return [_value(item.strip()) for item in text.split(",")]


def _value(text: str) -> Any:
    try:
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        return float(text) if any(c in text for c in ".einEIN") else int(text, 0)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor an array: {error}") from None


def _global_shape(text: str) -> tuple[str, str]:
    name, separator, shape = text.partition("=")
    if not (name and separator and shape):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form GLOBAL=SHAPE, as in table=C")
    return name, shape


def _write(made: VectorizedIR, output: Path) -> None:
    match output.suffix:
        case ".ll":
            output.write_text(made.llvm, encoding="utf-8")
        case ".s":
            output.write_text(made.assembly, encoding="utf-8")
        case ".bc":
            output.write_bytes(made.bitcode)
        case _:
            output.write_bytes(made.object_code)
