"""``weft passes``: the passes that each kind of program goes through, in their order."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from weft.passes import doors
from weft.passes.catalog import LISTS
from weft.passes.declared import PassList


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("passes", help="list the passes of the compiler", description=__doc__)
    names = [each.name.replace(" ", "-") for each in LISTS]
    parser.add_argument("list", metavar="LIST", nargs="?", choices=names, help=f"one of {', '.join(names)}")
    parser.add_argument("--markdown", action="store_true", help="print tables as the documentation has them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the lists."""
    chosen = [each for each in LISTS if options.list in (None, each.name.replace(" ", "-"))]
    show = markdown if options.markdown else plain
    parts = ["\n".join(show(each)) for each in chosen]
    if options.markdown and options.list is None:
        parts.append("\n".join(doors.markdown()))
    print("\n\n".join(parts))
    return 0


def plain(passes: PassList) -> Iterator[str]:
    """The lines of a list for a terminal."""
    rows = [(depth, each) for depth, each in passes.walk()]
    width = max(2 * depth + len(each.flag) for depth, each in rows)
    yield f"{passes.name.replace(' ', '-')}: {passes.about}"
    for depth, each in rows:
        name = f"{'  ' * depth}{each.flag}"
        marks = [each.meaning.value, *(("optional",) if each.optional else ())]
        source = f"  [{each.source}]" if each.source else ""
        yield f"  {name:{width}}  {each.promise} ({', '.join(marks)}){source}"


def markdown(passes: PassList) -> Iterator[str]:
    """The lines of a list as a section with a table."""
    yield f"### {passes.name.capitalize()}"
    yield ""
    yield f"{passes.about[0].upper()}{passes.about[1:]}."
    yield ""
    yield "| pass | promise | holds under | from |"
    yield "|---|---|---|---|"
    for depth, each in passes.walk():
        name = f"{'· ' * depth}`{each.flag}`{' (optional)' if each.optional else ''}"
        yield f"| {name} | {each.promise} | {each.meaning.value} | {each.source} |"
