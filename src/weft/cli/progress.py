"""How far long work is: a line with a bar or a turning sign on a terminal, and nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Step = Callable[[str], None]
"""Is told what is done now."""


@contextlib.contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Step]:
    """Show progress on the standard error stream, if it is a terminal and rich is installed.

    Parameters
    ----------
    title
        What is done.
    total
        How many steps there are, where that is known.
    """
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda what: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        begun = False

        def step(what: str) -> None:
            nonlocal begun
            # A step is done when the next begins.
            shown.update(task, description=f"{title}: {what}", advance=1 if begun else 0)
            begun = True

        yield step
