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


def test_remarks_survive_as_json() -> None:
    stored = json.loads(json.dumps(store_remarks(REMARKS, "here.py")))
    again = restore_remarks(stored, "here.py")
    assert again == REMARKS
    assert [str(remark) for remark in again] == [str(remark) for remark in REMARKS]


def test_the_function_may_have_moved_to_another_file() -> None:
    spans = [remark.span for remark in restore_remarks(store_remarks(REMARKS, "here.py"), "there.py")]
    assert [span and span.file for span in spans] == ["there.py", "helpers.py", None]
