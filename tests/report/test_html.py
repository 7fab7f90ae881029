"""The HTML of a report."""

from html.parser import HTMLParser

from report import marked_kernels
from report.programs import FOREIGN, TRAVERSAL
from weft.report import html
from weft.report.flow_drawing import flow_drawing
from weft.report.model import (
    BarrierReport,
    BlockReport,
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


def test_a_line_opens_to_its_causes_and_hint(report_on_kernel) -> None:
    function, types = marked_kernels.KERNELS["permute"]
    page = report_on_kernel(function, types).to_html()
    parse(page)
    line = next(row for row in page.split("<tr") if "y[j] = x[0]" in row)
    assert "<details><summary>" in line and "<script" not in page
    assert "scatter: each lane stores" in line and "sort or bin" in line
    assert "loaded at an address that depends on" in line
    assert 'class="cost" style="--share:' in line


def test_control_flow_is_drawn_with_divergent_regions(report_on_kernel) -> None:
    function, types = marked_kernels.KERNELS["collatz"]
    report = report_on_kernel(function, types)
    drawing = report.to_html().partition("<svg")[2].partition("</svg>")[0]
    assert drawing.count("<rect") == len(report.functions[0].blocks)
    assert 'class="partly diverges"' in drawing or 'class="diverges"' in drawing
    assert "lanes disagree at its branch" in drawing and "runs for some lanes only" in drawing
    assert 'aria-label="control flow of collatz' in drawing


def test_blocks_without_a_branch_stand_in_layers() -> None:
    blocks = [
        BlockReport("entry", 1, (1, 2), True, False),
        BlockReport("then", 2, (3,), False, True),
        BlockReport("else", 3, (3,), False, True),
        BlockReport("join", 4, (0, 3), False, False),
        BlockReport("never", 5, (3,), False, False),
    ]
    drawing = flow_drawing(blocks, "f")
    assert drawing.count("<rect") == 4
    assert drawing.count('class="diverges"') == 3
    ys = {
        name: drawing.partition(f">{name}<")[0].rpartition('y="')[2].partition('"')[0]
        for name in ("then", "else")
    }
    assert ys["then"] == ys["else"]
    assert flow_drawing(blocks[:1], "f") == ""


def test_several_functions_have_a_summary_with_links(report_on_text) -> None:
    page = report_on_text(FOREIGN).to_html()
    assert '<a href="#weft-0">odd &lt;name&gt;</a>' in page
    assert 'id="weft-1"' in page
    assert "<nav" not in report_on_text(TRAVERSAL).to_html()


def test_odd_names_of_functions_are_escaped(report_on_text) -> None:
    assert "odd &lt;name&gt;" in report_on_text(FOREIGN)._repr_html_()
