"""The command ``weft``: one module a subcommand, each with ``add_parser`` that names what to run.

Only the module of the subcommand that is given is imported: all of them take a second.

A subcommand's function takes the parsed arguments and returns the exit status. Errors of weft end as their
message on the standard error stream and status 1; wrong usage is status 2, as with every command.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

import weft
from weft.diag.errors import WeftError

COMMANDS = (
    *("analyze", "lint", "build", "loops", "vectorize", "run", "passes", "opt", "opencl", "cuda", "ptx"),
    *("spill", "info"),
)
"""The subcommands, which have the names of their modules."""


def build_parser(commands: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one with some of the subcommands."""
    parser = argparse.ArgumentParser(
        prog="weft", description="Compile data-parallel kernels to SIMD code, and see where lanes diverge."
    )
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in commands:
        import_module(f"weft.cli.{command}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, the process's own by default, and return the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    first = next(iter(given), "")
    commands = (first,) if first in COMMANDS else () if first == "--version" else COMMANDS
    options = build_parser(commands).parse_args(given)
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
