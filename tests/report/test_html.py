"""The HTML of a report."""

from html.parser import HTMLParser

from report.programs import FOREIGN, TRAVERSAL
from weft.report import html
from weft.report.model import (
    BarrierReport,
    Excerpt,
    Finding,
    FindingKind,
    FunctionReport,
    LineReport,
    ReportSettings,
)

NASTY = "<script>alert('&\"')</script>"


class _Tags(HTMLParser):
    """Checks that tags nest, and collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def parse(text: str) -> _Tags:
    tags = _Tags()
    tags.feed(text)
    tags.close()
    assert not tags.open
    return tags


def test_tags_nest(report_on_text) -> None:
    for program in (TRAVERSAL, FOREIGN):
        report = report_on_text(program)
        assert {"table", "section", "ol"} <= parse(report._repr_html_()).seen
        assert {"html", "body", "title"} <= parse(report.to_html("a <title>")).seen


def test_everything_from_outside_is_escaped() -> None:
    function = FunctionReport(
        NASTY, NASTY, (Excerpt(NASTY, NASTY, (LineReport(1, NASTY, NASTY, "varying", "diverges", (NASTY,)),)),),
        (), (), (), (), (),
        (Finding(FindingKind.GATHER, 1, 5.0, NASTY, (NASTY,)),),
        (BarrierReport(1, True, NASTY, (NASTY,)),),
        result=NASTY,
    )  # fmt: skip
    page = html.page([function], ReportSettings("lanes", 4, NASTY), NASTY)
    assert "script" not in parse(page).seen
    assert NASTY not in page
    assert page.count("&lt;script&gt;alert(&#x27;&amp;&quot;&#x27;)&lt;/script&gt;") >= 10


def test_odd_names_of_functions_are_escaped(report_on_text) -> None:
    assert "odd &lt;name&gt;" in report_on_text(FOREIGN)._repr_html_()
