"""``weft cuda``: the CUDA runtime that programs of nvcc load."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "cuda",
        help="the CUDA runtime for the CPU: where it is",
        description="Make weft's CUDA runtime, if it is not there yet, and let programs of nvcc find it.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    libraries = actions.add_parser(
        "libraries",
        help="print the folder for LD_LIBRARY_PATH: LD_LIBRARY_PATH=$(weft cuda libraries) ./program",
    )
    libraries.set_defaults(run=run_libraries)


def run_libraries(options: argparse.Namespace) -> int:
    """Print the folder that has the library."""
    from weft.cuda.runtime.library import library_folder

    print(library_folder())
    return 0
