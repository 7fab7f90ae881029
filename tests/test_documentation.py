"""What the documents promise: links lead somewhere, files that they name exist, passes state contracts, kernels run."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import weft
from weft.ir.intrinsics import INTRINSICS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "weft"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = ("src/", "tests/", "bench/", "examples/", "docs/")


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What links may name behind ``#``: the headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def named_files(text: str) -> list[str]:
    """The files, and folders with a slash behind, that a text names by their path in the repository, in backticks."""
    return [name for name in re.findall(r"`([\w./*-]+(?:\.\w+|/))`", text) if name.startswith(ROOMS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    for name in named_files(prose(page)):
        assert any(ROOT.glob(name.rstrip("/"))), name


def is_part_of_weft(name: str) -> bool:
    """Whether a dotted name is a module, an intrinsic, or what a module has, or a class of it."""
    place = SOURCE.parent.joinpath(*name.split("."))
    if name in INTRINSICS or place.is_dir() or place.with_suffix(".py").exists():
        return True
    for member, module in ((place, place.parent), (place.parent, place.parent.parent)):
        for file in (module.with_suffix(".py"), module / "__init__.py"):
            if file.exists() and re.search(rf"\b{member.name}\b", file.read_text()):
                return True
    return False


def test_parts_of_weft_that_pages_and_docstrings_name_exist():
    for file in (*PAGES, *SOURCE.rglob("*.py")):
        for name in re.findall(r"(?<!`)`(weft(?:\.\w+)+)(?:\(\))?`(?!`)", file.read_text()):
            assert is_part_of_weft(name), f"{file}: {name}"


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in index, page.name


def test_what_is_there_of_a_paper_is_tested():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in prose(ROOT / "docs" / "papers.md").splitlines()
        if line.startswith(("| §", "| Fig.", "| ch.", "| Table"))
    ]
    assert len(rows) > 80
    for section, files, *_, last in (row for row in rows if len(row) == 4):
        if named_files(files):
            assert any(name.startswith("tests/") for name in named_files(last)), section
        else:
            assert "*not yet*" in files, section


def transformations() -> list[Path]:
    """The modules of `weft.transform` whose functions passes call."""
    declaring = [*(SOURCE / "passes").rglob("*.py"), *(SOURCE / "codegen").glob("*passes*.py")]
    imports = [n for file in declaring for n in ast.walk(ast.parse(file.read_text()))]
    found = {
        node.module
        for node in imports
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("weft.transform.")
        if any(name.name.islower() for name in node.names)
    }
    return [ROOT / "src" / f"{module.replace('.', '/')}.py" for module in sorted(found)]


@pytest.mark.parametrize("module", transformations(), ids=lambda module: module.stem)
def test_passes_state_what_they_need_and_what_they_leave(module):
    contract = ast.get_docstring(ast.parse(module.read_text())) or ""
    assert "Precondition" in contract and "Postcondition" in contract
    assert re.search(r"\bFR\b|Preserves|Only attributes change", contract)


def test_there_are_transformations():
    assert len(transformations()) > 15


def test_the_first_kernel_of_the_readme_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    # Kernels need a file: their source is read.
    file = tmp_path / "saxpy.py"
    file.write_text(code)
    names = {"__name__": "saxpy", "__file__": str(file)}
    exec(compile(code, file, "exec"), names)
    np.testing.assert_array_equal(names["y"], 2)


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == weft.__version__ and cited["license"] == "Apache-2.0"
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
