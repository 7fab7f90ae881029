"""The report as users get it: an object that prints, shows itself in notebooks, and gives JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from weft.report import as_json, html, text
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
    """

    functions: tuple[FunctionReport, ...]
    settings: ReportSettings

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

    def to_html(self, title: str = "weft") -> str:
        """The report as an HTML document."""
        return html.page(self.functions, self.settings, title)

    def _repr_html_(self) -> str:
        return html.fragment(self.functions, self.settings)

    @property
    def has_errors(self) -> bool:
        """Whether a barrier is certainly divergent."""
        return any(barrier.certain for function in self.functions for barrier in function.barriers)


def joined(reports: Sequence[Report]) -> Report:
    """Several reports as one, under the settings of the first."""
    return Report(tuple(f for report in reports for f in report.functions), reports[0].settings)
