"""Reports on sequential loops as dictionaries and lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from weft.analysis.sequential.assumptions import Assumption
from weft.report.loops.costs import AccessCost, MappingReport, SharedArea
from weft.report.loops.observed import ObservedLoop

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport, LoopReport, SectionReport


def report_data(report: LoopNestReport) -> dict[str, Any]:
    """A report as dictionaries, lists, strings, numbers and None: the schema of docs/sequential_loops.md."""
    data: dict[str, Any] = {"loops": [_loop_data(loop) for loop in report.loops]}
    if report.instantiated:
        data["instantiated"] = [
            {"function": v.function, "name": v.name, "values": list(v.values), "source": v.source}
            for v in report.instantiated
        ]
    return data


def _loop_data(loop: LoopReport) -> dict[str, Any]:
    return {
        "function": loop.function,
        "file": loop.file,
        "line": loop.line,
        "depth": loop.depth,
        "verdict": loop.verdict.value,
        "reasons": [{"line": r.line, "text": r.text} for r in loop.reasons],
        "iterations": loop.iterations,
        "in": [_section_data(s) for s in loop.inputs],
        "out": [_section_data(s) for s in loop.outputs],
        "private": list(loop.private),
        "functions": list(loop.functions),
        "complete": loop.is_complete,
        "assumptions": [
            {"kind": kind, "line": line, "text": text} for kind, line, text in told(loop.assumptions)
        ],
        "accesses": [
            {"line": a.line, "kind": a.kind, "array": a.array, "offset": a.offset, **_cost_data(a.cost)}
            for a in loop.accesses
        ],
        "mapping": None if loop.mapping is None else _mapping_data(loop.mapping),
        "observed": None if loop.observed is None else _observed_data(loop.observed),
        "strips": [{"lines": list(part.lines), "in_lanes": part.in_lanes} for part in loop.strips],
        "sharing": [] if loop.mapping is None else [_area_data(a) for a in loop.mapping.shared],
    }


def _section_data(section: SectionReport) -> dict[str, Any]:
    return {"name": section.name, "section": None if section.section is None else list(section.section)}


def _cost_data(cost: AccessCost | None) -> dict[str, Any]:
    if cost is None:
        return {"transactions": {}}
    return {
        "transactions": cost.transactions,
        "at_most": sorted(cost.bounds),
        "warp": cost.warp,
        "stride": cost.stride,
        "contiguity": cost.contiguity,
        "cache_lines": cost.cache_lines,
        "bank_turns": cost.bank_turns,
    }


def _observed_data(observed: ObservedLoop) -> dict[str, Any]:
    return {
        "runs": observed.runs,
        "iterations": {"least": observed.least, "most": observed.most, "mean": round(observed.mean, 3)},
        "share": round(observed.share, 4),
        "complete": observed.is_complete,
        "dependences": [
            {
                "kind": d.kind,
                "from": d.source,
                "to": d.sink,
                "distance": [d.least, d.most],
                "times": d.times,
            }
            for d in observed.dependences
        ],
    }


def _mapping_data(mapping: MappingReport) -> dict[str, Any]:
    estimate = mapping.estimate
    return {
        "best": mapping.best,
        "candidates": [{"name": name, "lines": mapping.lines[name]} for name in mapping.names],
        "operations": mapping.operations,
        "bytes": mapping.bytes,
        "estimate": None
        if estimate is None
        else {
            "intensity": round(estimate.intensity, 4),
            "ridge": round(estimate.ridge, 4),
            "limit": estimate.limit,
            "microseconds": round(estimate.microseconds, 4),
        },
        "lane_group": mapping.width,
        "assumptions": [{"kind": k, "line": line, "text": text} for k, line, text in mapping.assumptions],
        "grouped": {
            "near": [_area_data(a) for a in mapping.near],
            "pointer": [_area_data(a) for a in mapping.by_pointer],
        },
    }


def _area_data(area: SharedArea) -> dict[str, Any]:
    return {
        "array": area.array,
        "lines": list(area.lines),
        "reason": area.reason,
        "overlap": area.overlaps,
        "pitch": area.pitch,
        "section": [list(ends) for ends in area.section],
        "bytes": area.bytes,
    }


def strip_lines(loop: LoopReport) -> list[str]:
    """The loops that a loop becomes in each of its strips, by their lines."""
    return [
        f"{'line' if len(part.lines) == 1 else 'lines'} {', '.join(map(str, part.lines))} in "
        f"{'lanes' if part.in_lanes else 'order'}"
        for part in loop.strips
    ]


def told(assumptions: Iterable[Assumption]) -> list[tuple[str, int, str]]:
    """Kind, line and text of assumptions, each once."""
    return list(dict.fromkeys((a.kind, a.line, a.text) for a in assumptions))
