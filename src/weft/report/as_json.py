"""The JSON of a report: a stable format for other programs."""

from __future__ import annotations

import json
from typing import Any

from weft.report.model import FunctionReport


def as_data(functions: tuple[FunctionReport, ...]) -> dict[str, Any]:
    """The report as dictionaries, lists, strings, numbers and None."""
    return {"functions": [_function(function) for function in functions]}


def as_json(functions: tuple[FunctionReport, ...]) -> str:
    """The report as JSON text."""
    # Any stream can take ASCII, and names in LLVM IR may have bytes that are no characters.
    return json.dumps(as_data(functions), indent=1)


def _function(function: FunctionReport) -> dict[str, Any]:
    return {
        "name": function.name,
        "values": [
            {"name": v.name, "line": v.line, "shape": v.shape, "class": v.shape_class}
            for v in function.values
        ],
        "branches": [{"block": b.block, "line": b.line, "divergent": b.divergent} for b in function.branches],
        "loops": [
            {
                "header": loop.header,
                "line": loop.line,
                "divergent": loop.divergent,
                "exits": [{"block": e.block, "divergent": e.divergent} for e in loop.exits],
            }
            for loop in function.loops
        ],
        "allocas": [{"name": a.name, "line": a.line, "uniform": a.uniform} for a in function.allocas],
        "accesses": [
            {"line": a.line, "kind": a.kind, "form": a.form.value, "stride": a.stride}
            for a in function.accesses
        ],
        "compiled": function.compiled,
        "lanes": function.lanes,
        "cycles": function.cycles,
        "lines": [
            {"file": e.file, "line": line.number, "cycles": line.cycles, "memory": list(line.memory)}
            for e in function.excerpts
            for line in e.lines
            if line.cycles
        ],
        "findings": [
            {
                "kind": f.kind.value,
                "file": f.file,
                "line": f.line,
                "column": f.column,
                "cycles": f.cycles,
                "message": f.message,
                "because": list(f.because),
                "hint": f.hint,
            }
            for f in function.findings
        ],
    }
