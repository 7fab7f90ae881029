"""The command ``weft``: one module a subcommand, each with ``add_parser`` that names what to run.

A subcommand's function takes the parsed arguments and returns the exit status. Errors of weft end as their
message on the standard error stream and status 1; wrong usage is status 2, as with every command.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import weft
from weft.cli import analyze, build, cuda, info, lint, loops, opencl, opt, passes, ptx, run, spill, vectorize
from weft.diag.errors import WeftError

COMMANDS = (analyze, lint, build, loops, vectorize, run, passes, opt, opencl, cuda, ptx, spill, info)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="weft", description="Compile data-parallel kernels to SIMD code, and see where lanes diverge."
    )
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, the process's own by default, and return the exit status."""
    options = build_parser().parse_args(arguments)
    try:
        status = options.run(options)
        sys.stdout.flush()
    except WeftError as error:
        print(f"weft: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (`head`, say) has what it wanted. What is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status
