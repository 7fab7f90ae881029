"""Remarks as JSON values, so that code from the compile cache has those it was compiled with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any

from weft.diag.remarks import Remark, RemarkKind
from weft.diag.source import SourceSpan

_HOME = ""
"""Stands for the file of the function that was compiled: the same function may be found in another one."""


def store_remarks(remarks: Iterable[Remark], home: str) -> list[list[Any]]:
    """Return JSON values for the remarks on a function in the file `home`."""
    return [[r.kind, r.message, _stored(r.span, home), r.hint, r.pass_name] for r in remarks]


def restore_remarks(values: Sequence[Sequence[Any]], home: str) -> tuple[Remark, ...]:
    """Return the remarks of such values on a function that is in the file `home` now."""
    return tuple(
        Remark(RemarkKind(kind), message, _restored(span, home), hint, pass_name)
        for kind, message, span, hint, pass_name in values
    )


def _stored(span: SourceSpan | None, home: str) -> list[Any] | None:
    if span is None:
        return None
    return list(astuple(replace(span, file=_HOME) if span.file == home else span))


def _restored(values: Sequence[Any] | None, home: str) -> SourceSpan | None:
    if values is None:
        return None
    span = SourceSpan(*values)
    return replace(span, file=home) if span.file == _HOME else span
