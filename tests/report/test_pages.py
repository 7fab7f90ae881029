"""Machine code of lines, two versions side by side, and what a browser makes of pages."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest

import weft
from report import marked_kernels
from report.test_html import parse
from weft import cuda, opencl, ptx
from weft.cli import main
from weft.report.machine_code import described, lines_of

SIGNATURE = "void(float32[:], int32[:], float32[:])"
CONTIGUOUS = "void(float32[::1], int32[::1], float32[::1])"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@cuda.jit
def permutes(x, index, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    j = index[i]
    if x[j] > 0:
        y[j] = x[0] / (x[i] + 1)
    y[i] += x[j]


LINE = permutes.py_func.__code__.co_firstlineno


@pytest.fixture(scope="module")
def report():
    return permutes.report(SIGNATURE)


def test_instructions_go_to_their_lines() -> None:
    text = """
    \t.file\t1 "/home/x" "k.py"
f:
\t.loc\t1 7 3 prologue_end
\tmovq\t%rax, %rbx    # copied
.LBB0_1:
\taddq\t$1, %rax
\t.loc\t1 0 3
\tnop
\t.loc\t1 9 1
\tretq
g:
\tnop
"""
    assert lines_of(text) == {("k.py", 7): ("movq %rax, %rbx", "addq $1, %rax"), ("k.py", 9): ("retq",)}


def test_descriptions_that_are_alike_become_one() -> None:
    text = """define i32 @k.groups(ptr %p) #1 {
  ret i32 0, !dbg !5
}
!2 = distinct !DISubprogram(name: "k", line: 4)
!3 = distinct !DISubprogram(name: "k", line: 4)
!5 = !DILocation(line: 5, column: 1, scope: !3)
"""
    made = described(text)
    assert "define i32 @k.groups(ptr %p) #1 !dbg !2 {" in made and "scope: !2)" in made


def test_a_line_opens_to_its_machine_code(report) -> None:
    page = report.to_html(machine_code=True)
    parse(page)
    division = next(row for row in page.split("<tr") if "y[j] = x[0]" in row)
    assert "vdivps" in division or "divps" in division
    assert f"machine code of line {LINE + 7}: " in division
    assert "machine code" not in report.to_html()


@weft.jit(parallel=True)
def scaled(a, b):
    for i in weft.prange(a.size):
        a[i] = b[i] * 2 + 1


@weft.vectorize("float32(float32, float32)")
def weighed(x, y):
    return x * y + 1


OPENCL = "kernel void k(global float *a) {\n  int i = get_global_id(0);\n  a[i] = a[i] * 2;\n}\n"
CUDA = "__global__ void k(float *a) {\n  int i = threadIdx.x;\n  a[i] = a[i] * 2;\n}\n"
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
  .reg .b32 %r<2>; .reg .b64 %rd<3>; .reg .f32 %f<3>;
  ld.param.u64 %rd0, [a];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd0, %rd0, %rd1;
  ld.global.f32 %f0, [%rd0];
  add.f32 %f1, %f0, %f0;
  st.global.f32 [%rd0], %f1;
  ret;
}
"""


def _report_of(door: str):
    if door == "loop":
        scaled(np.zeros(8), np.ones(8))
        return scaled.report(), scaled.py_func.__code__.co_firstlineno + 3
    if door == "elementwise":
        return weighed.report(), weighed.py_func.__code__.co_firstlineno + 2
    if door == "OpenCL C":
        return opencl.Program(OPENCL).kernel("k").report(), 3
    if door == "CUDA C++":
        return cuda.Module(CUDA).k.report(), 3
    return ptx.Module(PTX).k.report(), 12


@pytest.mark.parametrize("door", ["loop", "elementwise", "OpenCL C", "CUDA C++", "PTX"])
def test_lines_of_every_door_open_to_their_machine_code(door: str) -> None:
    made, line = _report_of(door)
    assert made.functions[0].compiled and "as it was written" not in made.functions[0].compiled
    page = made.to_html(machine_code=True)
    parse(page)
    assert f"machine code of line {line}: " in page and "machine code of" not in made.to_html()
    code = next(instructions for (_, number), instructions in made.code().items() if number == line)
    assert any("p" in instruction.split()[0] for instruction in code)


def test_the_command_shows_machine_code(tmp_path) -> None:
    source, page = tmp_path / "k.c", tmp_path / "k.html"
    source.write_text(
        "void k(int n, float *x) {\n  for (int i = 0; i < n; ++i)\n    x[i] = x[i] / 3.0f;\n}\n"
    )
    assert main(["analyze", str(source), "--html", str(page), "--machine-code"]) == 0
    assert "machine code of line 3: " in page.read_text()


def test_a_line_shows_what_comes_of_it(report) -> None:
    row = next(row for row in report.to_html().split("<tr") if "j = index[i]" in row)
    assert "leads to <b>" in row and f"line {LINE + 7}: scatter" in row


def test_two_versions_stand_side_by_side(report) -> None:
    better = permutes.report(CONTIGUOUS)
    page = better.to_html("permutes", before=report)
    parse(page)
    change = re.search(r'<th scope="row">permutes</th>.*?</tr>', page).group(0)
    assert 'class="cost better">-' in change and " → " in change
    assert page.count('role="region"') == 2 and page.index("float32[:],") < page.index("float32[::1],")
    assert len(set(re.findall(r'id="(weft-[^"]+)"', page))) == len(re.findall(r'id="weft-[^"]+"', page))
    worse = report.to_html("permutes", before=better)
    assert 'class="cost worse">+' in worse


PROBE = """
<pre id="probe"></pre><script>
function colour(text) { const c = document.createElement("canvas").getContext("2d");
  c.fillStyle = text; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data] }
function light(c) { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]) }
function behind(e) { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor);
  if (c[3] == 255) return c } return [255, 255, 255, 255] }
document.querySelectorAll("details").forEach(d => d.open = true);
let least = 99, where = "";
for (const e of document.querySelectorAll(".weft *")) {
  if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.closest("style, svg")) continue;
  const [a, b] = [light(colour(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + .05) / (b + .05);
  if (ratio < least) { least = ratio; where = e.outerHTML.slice(0, 80) }
}
const unreachable = [...document.querySelectorAll("summary, a")]
  .filter(e => (e.focus(), document.activeElement != e)).length;
document.getElementById("probe").textContent = JSON.stringify({ least, where, unreachable,
  wide: document.documentElement.scrollWidth - innerWidth,
  back: getComputedStyle(document.body).backgroundColor,
  unnamed: [...document.querySelectorAll("svg, section, nav")].filter(e => !e.getAttribute("aria-label") &&
    !e.getAttribute("aria-labelledby")).length });
</script>"""


def probed(tmp_path, page: str, *options: str) -> dict:
    """What a script in the page finds out."""
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", PROBE + "</body>"))
    chosen = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", *options)
    done = subprocess.run(
        [BROWSER, f"--user-data-dir={tmp_path}/profile", *chosen, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-500:]
    return json.loads(unescape(found.group(1)))


@pytest.mark.spread
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["plain", "code", "beside"])
def test_pages_in_a_browser(report, tmp_path, kind, dark) -> None:
    page = {
        "plain": lambda: report.to_html("a page"),
        "code": lambda: report.to_html("a page", machine_code=True),
        "beside": lambda: permutes.report(CONTIGUOUS).to_html("a page", before=report),
    }[kind]()
    found = probed(tmp_path, page, *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    assert found["least"] >= 4.5, found["where"]
    assert found["unreachable"] == found["unnamed"] == 0
    assert found["wide"] <= 0, "the page is wider than the window"
    assert (found["back"] == "rgb(22, 24, 28)") == dark


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_page_of_several_kernels_in_a_browser(report_on_kernel, tmp_path) -> None:
    function, types = marked_kernels.KERNELS["permute"]
    page = report_on_kernel(function, types).to_html("several")
    assert probed(tmp_path, page)["least"] >= 4.5
