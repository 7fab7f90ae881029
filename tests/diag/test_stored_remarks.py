"""Remarks that are kept with compiled code."""

import json

from weft.diag.remarks import Remark, RemarkKind
from weft.diag.source import SourceSpan
from weft.diag.stored_remarks import restore_remarks, store_remarks

REMARKS = (
    Remark(RemarkKind.MEMORY, "loads are gathered", SourceSpan("here.py", 3, 5, 3, 9), "sort", "widening"),
    Remark(RemarkKind.MATH, "sin is exact", SourceSpan("helpers.py", 7, text="sin(x)")),
    Remark(RemarkKind.VECTORIZED, "8 threads at a time"),
)
FILES = ("here.py", "helpers.py", "here.py")


def test_remarks_survive_as_json() -> None:
    stored = json.loads(json.dumps(store_remarks(REMARKS, FILES)))
    again = restore_remarks(stored, FILES)
    assert again == REMARKS
    assert [str(remark) for remark in again] == [str(remark) for remark in REMARKS]


def test_functions_may_have_moved_to_other_files() -> None:
    moved = ("there.py", "elsewhere.py", "there.py")
    spans = [remark.span for remark in restore_remarks(store_remarks(REMARKS, FILES), moved)]
    assert [span and span.file for span in spans] == ["there.py", "elsewhere.py", None]


def test_files_of_no_function_stay() -> None:
    spans = [remark.span for remark in restore_remarks(store_remarks(REMARKS, FILES[:1]), ("there.py",))]
    assert [span and span.file for span in spans] == ["there.py", "helpers.py", None]
