"""The JSON of a report: its keys and what they hold."""

import json

from report import marked_kernels
from report.programs import FOREIGN, TRAVERSAL

SCHEMA = {
    "values": {"name": str, "line": (int, type(None)), "shape": str, "class": str},
    "branches": {"block": str, "line": (int, type(None)), "divergent": bool},
    "loops": {"header": str, "line": (int, type(None)), "divergent": bool, "exits": list},
    "allocas": {"name": str, "line": (int, type(None)), "uniform": bool},
    "accesses": {"line": (int, type(None)), "kind": str, "form": str, "stride": (int, type(None))},
    "lines": {"file": str, "line": int, "cycles": float, "memory": list},
    "findings": {
        "kind": str,
        "file": str,
        "line": (int, type(None)),
        "column": int,
        "cycles": float,
        "message": str,
        "because": list,
        "hint": str,
    },
}
EXIT = {"block": str, "divergent": bool}
CLASSES = {"uniform", "strided", "affine", "varying"}
FORMS = {"uniform", "contiguous", "strided", "gather", "scatter", "private"}


def _has(item, keys) -> None:
    assert set(item) == set(keys)
    for key, kind in keys.items():
        assert isinstance(item[key], kind), (key, item[key])


def check(data) -> None:
    assert set(data) == {"functions"}
    for function in data["functions"]:
        assert set(function) == {"name", "compiled", "cycles", "lanes", *SCHEMA}
        for part, keys in SCHEMA.items():
            for item in function[part]:
                _has(item, keys)
        for loop in function["loops"]:
            for leaving in loop["exits"]:
                _has(leaving, EXIT)
        assert {v["class"] for v in function["values"]} <= CLASSES
        assert {a["form"] for a in function["accesses"]} <= FORMS


def test_every_report_has_the_schema(report_on_text, report_on_kernel) -> None:
    check(json.loads(report_on_text(TRAVERSAL).to_json()))
    check(json.loads(report_on_text(FOREIGN).to_json()))
    for function, types in marked_kernels.KERNELS.values():
        check(json.loads(report_on_kernel(function, types).to_json()))


def test_values_of_llvm_text_have_llvms_names_and_lines(report_on_text) -> None:
    traverse, *_ = report_on_text(TRAVERSAL).to_dict()["functions"]
    values = {v["name"]: v for v in traverse["values"]}
    assert values["tid"] == {"name": "tid", "line": 7, "shape": "S1a16", "class": "strided"}
    assert values["top"]["class"] == "uniform"
    assert values["k"]["class"] == "varying"
    assert values["root"] == {"name": "root", "line": 3, "shape": "U", "class": "uniform"}
    odd, helper = report_on_text(FOREIGN).to_dict()["functions"]
    assert odd["name"] == "odd <name>"
    assert {v["name"]: v["class"] for v in odd["values"]}["5"] == "strided"
    assert {v["name"]: v["class"] for v in helper["values"]} == {
        "a": "varying",
        "b": "uniform",
        "sum": "varying",
    }


def test_branches_loops_objects_and_accesses(report_on_text) -> None:
    traverse, *_ = report_on_text(TRAVERSAL).to_dict()["functions"]
    assert traverse["branches"] == [
        {"block": "loop", "line": 21, "divergent": False},
        {"block": "more", "line": 25, "divergent": True},
        {"block": "after", "line": 31, "divergent": False},
    ]
    assert traverse["loops"] == [
        {"header": "loop", "line": 21, "divergent": True, "exits": [{"block": "after", "divergent": True}]}
    ]
    assert traverse["allocas"] == [
        {"name": "stack", "line": 5, "uniform": True},
        {"name": "seen", "line": 6, "uniform": False},
    ]
    assert [(a["line"], a["kind"], a["form"], a["stride"]) for a in traverse["accesses"]] == [
        (9, "load", "contiguous", 4),
        (10, "store", "uniform", 0),
        (11, "store", "private", None),
        (16, "load", "uniform", 0),
        (19, "load", "uniform", 0),
        (27, "load", "private", None),
        (30, "atomic", "scatter", None),
    ]


def test_values_of_python_kernels_are_the_users_variables(report_on_kernel) -> None:
    collatz = marked_kernels.KERNELS["collatz"]
    (function,) = report_on_kernel(*collatz).to_dict()["functions"]
    first = collatz[0].__code__.co_firstlineno + 1
    classes = {(v["name"], v["line"] - first): v["class"] for v in function["values"]}
    assert classes["starts", 0] == "uniform"
    assert classes["i", 1] == "strided"
    assert classes["n", 2] == "varying"
    assert classes["k", 4] == classes["k", 5] == "uniform"


def test_given_shapes_change_the_classes(report_on_kernel) -> None:
    saxpy = marked_kernels.KERNELS["saxpy"]
    (function,) = report_on_kernel(*saxpy, args="T_Ca64_U").to_dict()["functions"]
    shapes = {v["name"]: v["shape"] for v in function["values"]}
    assert (shapes["a"], shapes["x"], shapes["y"]) == ("T", "S4a64", "U")
