from weft.diag.remarks import Remark, RemarkKind, RemarkLog
from weft.diag.source import SourceSpan


def test_remark_shows_kind_position_and_hint() -> None:
    span = SourceSpan("k.py", 4, 9, 4, 13, text="    if x[i] > 0:")
    remark = Remark(RemarkKind.DIVERGENT_BRANCH, "lanes disagree about x[i] > 0", span, "sort x", "analysis")
    assert str(remark) == (
        "k.py:4:9: remark[divergent-branch]: lanes disagree about x[i] > 0\n"
        "  4 |     if x[i] > 0:\n    |         ^~~~\n  hint: sort x"
    )


def test_what_may_change_the_meaning_is_a_warning() -> None:
    assert str(Remark(RemarkKind.BARRIER, "m")).startswith("warning[barrier]")
    assert str(Remark(RemarkKind.MEMORY, "m")).startswith("remark[memory]")


def test_log_keeps_each_remark_once_in_order() -> None:
    log = RemarkLog()
    for message in ("b", "a", "b"):
        log.add(RemarkKind.MEMORY, message)
    other = RemarkLog(log)
    other.extend(log)
    assert [remark.message for remark in other] == ["b", "a"]
    assert len(other) == 2


def test_log_sorts_by_position_with_unplaced_remarks_first() -> None:
    log = RemarkLog()
    log.add(RemarkKind.MEMORY, "late", SourceSpan("k.py", 10, 1))
    log.add(RemarkKind.MATH, "early", SourceSpan("k.py", 9, 1))
    log.add(RemarkKind.VECTORIZED, "whole kernel")
    assert [remark.message for remark in log.by_position()] == ["whole kernel", "early", "late"]
    assert [remark.message for remark in log.of_kind(RemarkKind.MATH)] == ["early"]
