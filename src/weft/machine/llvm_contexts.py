"""LLVM's contexts, which go behind the modules in them.

A module lies in its context's memory. Where an error holds both, with the frames it went through, Python's search for
garbage ends both in the order in which they were made: the context first, and with it the module, which is then given
back a second time. That ends the process.

Postcondition: a context that is kept here is given back when the last of its modules has been.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


def parsed_alone(parse: Callable[[Any, Any], Any], source: str | bytes) -> Any:
    """A module of llvmlite's, read by one of its functions into a context of its own."""
    import llvmlite.binding as llvm

    return parsed_within(llvm.create_context(), parse, source)


def parsed_within(context: Any, parse: Callable[[Any, Any], Any], source: str | bytes) -> Any:
    """A module of llvmlite's, read by one of its functions into a context."""
    module = parse(source, context)
    # As long as it is referred to from here the context is no garbage, even where the module is.
    weakref.finalize(module, _let_go, context).atexit = False
    return module


def _let_go(context: Any) -> None:
    """The module refers to its context, and is the last to do so now."""
