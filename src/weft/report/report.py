"""The report as users get it: an object that prints, shows itself in notebooks, and gives JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from msgspec.structs import replace

from weft.report import as_json, html, text
from weft.report.beside import Side, beside
from weft.report.machine_code import MakeLines, joined_lines
from weft.report.model import FunctionReport, ReportSettings
from weft.report.styled import report_lines


@dataclass(frozen=True, slots=True)
class Report:
    """What is uniform, what is strided, what diverges, what it costs and why.

    Attributes
    ----------
    functions
        What was found, a function each.
    settings
        The assumptions under which it was found.
    code
        Makes the machine code, by lines; None where there is none to show.
    """

    functions: tuple[FunctionReport, ...]
    settings: ReportSettings
    code: MakeLines | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return text.plain(report_lines(self.functions, self.settings))

    def write(self, stream: TextIO) -> None:
        """Print the report, in colours on a terminal where rich is installed."""
        text.write(report_lines(self.functions, self.settings), stream)

    def to_json(self) -> str:
        """The report as JSON text."""
        return as_json.as_json(self.functions)

    def to_dict(self) -> dict[str, Any]:
        """What the JSON says, as dictionaries and lists."""
        return as_json.as_data(self.functions)

    def to_html(
        self, title: str = "weft", *, machine_code: bool = False, before: Report | None = None
    ) -> str:
        """The report as an HTML document, which needs nothing from elsewhere.

        Parameters
        ----------
        title
            Of the page.
        machine_code
            Whether each line opens to the instructions that it has become, on this machine.
        before
            The report on an earlier version: both stand side by side, under a table of what has changed.
        """
        code = self.code() if machine_code and self.code is not None else {}
        if before is None:
            return html.page(self.functions, self.settings, title, code)
        old = before.code() if machine_code and before.code is not None else {}
        sides = Side(before.functions, before.settings, old), Side(self.functions, self.settings, code)
        return beside(*sides, title)

    def _repr_html_(self) -> str:
        return html.fragment(self.functions, self.settings)

    @property
    def has_errors(self) -> bool:
        """Whether a barrier is certainly divergent."""
        return any(barrier.certain for function in self.functions for barrier in function.barriers)


def joined(reports: Sequence[Report]) -> Report:
    """Several reports as one, under the settings of the first; functions keep their lanes."""
    first = reports[0].settings.width
    functions = tuple(
        f if report.settings.width == first else replace(f, lanes=report.settings.width)
        for report in reports
        for f in report.functions
    )
    return Report(functions, reports[0].settings, joined_lines(report.code for report in reports))
