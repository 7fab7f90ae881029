"""Remarks as JSON values, so that code from the compile cache has those it was compiled with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any

from weft.diag.remarks import Remark, RemarkKind
from weft.diag.source import SourceSpan


def store_remarks(remarks: Iterable[Remark], files: Sequence[str]) -> list[list[Any]]:
    """Return JSON values for the remarks on functions in these files."""
    return [[r.kind, r.message, _stored(r.span, files), r.hint, r.pass_name] for r in remarks]


def restore_remarks(values: Sequence[Sequence[Any]], files: Sequence[str]) -> tuple[Remark, ...]:
    """Return the remarks of such values on functions that are in these files now."""
    return tuple(
        Remark(RemarkKind(kind), message, _restored(span, files), hint, pass_name)
        for kind, message, span, hint, pass_name in values
    )


def store_file(file: str, files: Sequence[str]) -> str | int:
    """Return what stands for a file: its number, as the same functions may be found in other files."""
    return files.index(file) if file in files else file


def restore_file(value: str | int, files: Sequence[str]) -> str:
    """Return the file that such a value stands for."""
    return files[value] if isinstance(value, int) else value


def _stored(span: SourceSpan | None, files: Sequence[str]) -> list[Any] | None:
    if span is None:
        return None
    return [store_file(span.file, files), *astuple(span)[1:]]


def _restored(values: Sequence[Any] | None, files: Sequence[str]) -> SourceSpan | None:
    if values is None:
        return None
    file, *place = values
    return SourceSpan(restore_file(file, files), *place)
