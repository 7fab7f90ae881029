"""Linking modules of LLVM IR that were compiled apart."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from weft.machine.llvm_contexts import parsed_within


class LinkError(Exception):
    """Two modules define the same, or do not go together."""


def link_texts(texts: Sequence[str]) -> str:
    """Return one module with what all have; LLVM's own linker.

    Raises
    ------
    LinkError
        As LLVM says.
    """
    if len(texts) == 1:
        return texts[0]
    context = llvm.create_context()
    modules = [parsed_within(context, llvm.parse_assembly, text) for text in texts]
    first, *others = modules
    for module in others:
        try:
            first.link_in(module)
        except RuntimeError as error:
            raise LinkError(str(error).strip()) from None
    return str(first)
