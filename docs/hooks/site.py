"""What the documentation site has beside the pages of ``docs/``: made when it is built, and not kept.

* the project's own pages (README, CONTRIBUTING, CHANGELOG, SECURITY), whose links are led to where the site has them;
* the reference: a page for each public module, with all its names, from their docstrings;
* the notebooks, as pages;
* the pictures that examples have written to ``out/``, where the gallery names them.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PROJECT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
MODULES = ("cuda", "dask", "errors", "loops", "opencl", "ptx", "types")

_PICTURE = re.compile(r"<!-- picture: (\w+) -->")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that are made; `make run` writes the pictures."""
    for name in PROJECT:
        files.append(_made(config, f"project/{name.lower()}", _relinked((ROOT / name).read_text(), "")))
    for title, text in _reference():
        files.append(_made(config, f"reference/{title}.md", text))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(_made(config, f"notebooks/{notebook.stem}.md", _page_of(notebook)))
    for picture in _PICTURE.findall((ROOT / "docs" / "gallery.md").read_text()):
        made = ROOT / "out" / f"{picture}.png"
        files.append(File.generated(config, f"pictures/{made.name}", abs_src_path=str(made)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links out of ``docs/`` to the pages that stand for what they name."""
    if page.file.src_uri.startswith("project/"):
        return markdown
    return _relinked(_PICTURE.sub(r"![\1](pictures/\1.png)", markdown), "docs/")


def _made(config: Any, path: str, text: str) -> File:
    return File.generated(config, path, content=text)


def _relinked(text: str, folder: str) -> str:
    """A page's text with the links of its file in the repository led to where the site has their targets."""

    def led(match: re.Match[str]) -> str:
        if "://" in match["target"]:
            return match[0]
        path = (ROOT / folder / match["target"]).resolve().relative_to(ROOT).as_posix()
        if path in PROJECT:
            place = f"project/{path.lower()}"
        elif path.startswith("docs/") or path == "docs":
            place = path.removeprefix("docs/") if path != "docs" else "README.md"
        else:
            # A file of the source, which the site does not have: its name is enough.
            return match["text"]
        return f"[{match['text']}]({'' if folder else '../'}{place}{match['anchor'] or ''})"

    return _LINK.sub(led, text)


def _reference() -> Iterator[tuple[str, str]]:
    """The title and text of the page of each public module."""
    import weft

    names = {name: f"{module}.{name}" for name, module in weft._NAMES.items()}
    names |= {name: f"weft.runtime.settings.{name}" for name in weft.__all__}
    yield "weft", _page("weft", dict(sorted(names.items())))
    for name in MODULES:
        module = importlib.import_module(f"weft.{name}")
        public = getattr(module, "__all__", None) or ("Module", "spill")
        yield f"weft.{name}", _page(f"weft.{name}", {n: _place(getattr(module, n)) for n in sorted(public)})


def _place(value: Any) -> str:
    """The dotted name under which the source defines a class or function; nothing for any other value."""
    home, kind = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return f"{home}.{kind}" if home and kind and home.startswith("weft") else ""


def _page(title: str, places: dict[str, str]) -> str:
    """The page of a module: its docstring, its classes and functions, and a list of what else it has."""
    shown = "options: {show_root_heading: false, show_root_toc_entry: false, heading_level: 3"
    parts = [f"# `{title}`\n", f"::: {title}\n    {shown}, members: false}}\n"]
    values = [f"`{name}`" for name, place in places.items() if not place]
    if values:
        parts.append(f"Values: {', '.join(values)}.\n")
    parts += [f"## `{name}`\n\n::: {place}\n    {shown}}}\n" for name, place in places.items() if place]
    return "\n".join(parts)


def _page_of(notebook: Path) -> str:
    """A notebook's cells as a page."""
    cells = json.loads(notebook.read_text())["cells"]
    parts: list[str] = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"
