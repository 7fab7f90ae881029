"""Violations as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from weft.report.lint_rules import RULES, Rule, Violation

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(
    violations: Iterable[tuple[Violation, str, str]], version: str, docs: str = ""
) -> dict[str, Any]:
    """A SARIF log.

    Parameters
    ----------
    violations
        Each with its file relative to the root of the project, and its fingerprint.
    version
        Of weft.
    docs
        Where the documentation is on the web; empty for nowhere.
    """
    index = {rule: number for number, rule in enumerate(RULES)}
    driver = {"name": "weft", "version": version, "rules": [_rule(rule, docs) for rule in RULES]}
    results = [_result(v, file, key, index[v.rule]) for v, file, key in violations]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The folder in which weft lint was run."}}},
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def as_text(log: dict[str, Any]) -> str:
    """The log as text; ASCII, so that any stream takes it."""
    return json.dumps(log, indent=1) + "\n"


def _rule(rule: Rule, docs: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": f"{rule.summary} See {rule.page}."},
        "defaultConfiguration": {"level": rule.level.value},
    }
    if docs:
        described["helpUri"] = f"{docs.rstrip('/')}/{rule.page}"
    return described


def _result(violation: Violation, file: str, key: str, rule: int) -> dict[str, Any]:
    text = violation.message
    if violation.hint:
        text += f"\nHint: {violation.hint}."
    location: dict[str, Any] = {"artifactLocation": _artifact(file)}
    if violation.line:
        region = {"startLine": violation.line}
        if violation.column:
            region["startColumn"] = violation.column
        location["region"] = region
    found: dict[str, Any] = {
        "ruleId": violation.rule.name,
        "ruleIndex": rule,
        "level": violation.level.value,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"weft/v1": key},
        "properties": {"cycles": violation.cycles, "because": list(violation.because)},
    }
    if violation.function:
        place = {"name": violation.function, "kind": "function"}
        found["locations"][0]["logicalLocations"] = [place]
    return found


def _artifact(file: str) -> dict[str, str]:
    if file.startswith("/"):
        return {"uri": "file://" + quote(file)}
    return {"uri": quote(file), "uriBaseId": "ROOT"}
