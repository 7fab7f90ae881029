"""The page of sequential loops: whole, readable without anything else, and its pictures show what the tables say."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.loops.analysis import analyze_file

SOURCE = """\
void blur(int n, int m, float *restrict a, float *restrict b) {
  for (int i = 1; i < n - 1; i++) // <script>"&"
    for (int j = 1; j < m - 1; j++)
      b[i * m + j] = a[i * m + j] + a[(i - 1) * m + j] + a[(i + 1) * m + j] + a[i * m + j - 1] + a[i * m + j + 1];
}
void prefix(int n, double *x) {
  for (int i = 1; i < n; i++)
    x[i] += x[i - 1];
}
"""


class Checked(HTMLParser):
    """Elements that are opened and closed in order, and the targets of links."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.external: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        if tag == "a":
            self.links.add((found.get("href") or "").removeprefix("#"))
        self.external += [v or "" for k, v in attrs if k in ("src", "href") and not (v or "").startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "stencils.c"
    file.write_text(SOURCE)
    return analyze_file(Path(file)).to_html("stencils <1>")


def test_it_is_whole(page: str) -> None:
    checked = Checked()
    checked.feed(page)
    assert checked.open == [] and checked.external == []
    assert checked.links and checked.links <= checked.ids
    assert "<script" not in page and "&lt;script&gt;&quot;&amp;&quot;" in page
    assert "stencils &lt;1&gt;" in page and "http" not in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page and ":focus-visible" in page


def test_lines_have_verdicts_and_costs(page: str) -> None:
    rows = re.findall(
        r"<tr(?: class=loop)?><td>(.*?)</td><td class=\"cost\">(.*?)</td><td class=\"number\">(\d+)", page
    )
    text = {int(n): (re.sub("<.*?>", "", verdict), cost) for verdict, cost, n in rows}
    assert text[2][0] == "parallel" and text[3][0] == "parallel" and text[7][0] == "scan"
    assert set(text[4][1].split(", ")) == {"a 2", "a 1", "b 2"}
    assert "each element of x is computed from the one before" in page


def test_footprints(page: str) -> None:
    pictures = re.findall(r"<figcaption>(.*?)</figcaption>(<svg.*?</svg>)", page)
    # One for the five loads of a, which are put together.
    captions = [caption for caption, _ in pictures]
    assert captions[:2] == ["what a block reads of a in line 4", "what a block writes of b in line 4"]
    image = ElementTree.fromstring(pictures[0][1])
    boxes = {r.get("class"): [float(r.get(k, "0")) for k in ("x", "y", "width", "height")] for r in image}
    titles = [r[0].text for r in image]
    assert titles[0] == "a block: 10 by 136 bytes" and titles[-1] == "one thread: 3 by 12 bytes"
    assert titles[1:3] == ["the next thread in j", "the next thread in i"]
    block, thread = boxes["block"], boxes["thread"]
    assert thread[2] / block[2] == pytest.approx(12 / 136, abs=0.01)
    assert thread[3] / block[3] == pytest.approx(3 / 10, abs=0.01)
    for x, y, width, height in boxes.values():
        assert block[0] - 0.1 <= x and x + width <= block[0] + block[2] + 0.2
        assert block[1] - 0.1 <= y and y + height <= block[1] + block[3] + 0.2
