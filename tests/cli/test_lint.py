"""``weft lint``: what it finds, what it leaves out, and the files that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sarif_pydantic
import yaml

from weft.cli import main

KERNELS = """
import numpy as np
from weft import cuda

@cuda.jit("void(int32[::1], float32[::1], float32[::1], int32)")
def sums(index, x, y, n):
    i = cuda.grid(1)
    if i < y.size:
        for k in range(n):
            y[i] += x[index[i] + k]{comment}

@cuda.jit
def lazy(x):
    x[0] = 1
"""

BARRIER = """
from weft import cuda

@cuda.jit("void(int32[::1])")
def wait(x):
    i = cuda.threadIdx.x
    for k in range(x[i]):
        cuda.syncthreads()
    x[i] = 0
"""

SHARED = """
import numpy as np
from weft import cuda

@cuda.jit("void(float32[:, ::1], float32[:, ::1])")
def turn(a, b):
    tile = cuda.shared.array((32, 32), np.float32)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[x, y]
    cuda.syncthreads()
    b[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]
"""


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    """Write files, run the command among them; the status, and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(files: dict[str, str], *arguments: str):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        status = main(["lint", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def source(comment: str = "") -> str:
    return KERNELS.format(comment=comment)


def test_a_gather_in_a_loop_fails_with_place_cost_causes_and_hint(lint) -> None:
    status, out, err = lint({"k.py": source()}, "k.py")
    assert status == 1
    assert out.startswith("k.py:10:21: warning [gather-in-loop] gather: each lane loads")
    assert "cycles)\n    y[i] += x[index[i] + k]\n" in out
    assert "loaded at an address that depends on `i`" in out
    assert "    hint: sort or bin" in out
    assert "1 violation" in err


@pytest.mark.parametrize(
    "comment",
    [
        "  # weft: ignore[gather-in-loop]",
        "  # weft: ignore",
        "  # noqa  # weft: ignore[strided, gather-in-loop]",
    ],
)
def test_a_comment_on_the_line_says_that_it_is_meant(lint, comment) -> None:
    status, out, _ = lint({"k.py": source(comment)}, "k.py")
    assert (status, out) == (0, "")


def test_comments_before_the_line_and_for_the_file(lint) -> None:
    before = source().replace(
        "            y[i]", "            # weft: ignore[gather-in-loop]\n            y[i]"
    )
    assert lint({"k.py": before}, "k.py")[0] == 0
    assert lint({"k.py": "# weft: ignore-file[gather-in-loop]\n" + source()}, "k.py")[0] == 0
    status, _, err = lint({"k.py": source("  # weft: ignore[gahter]")}, "k.py")
    assert status == 1
    assert "k.py:10: no rule is called 'gahter'" in err


def test_costs_decide_where_there_is_a_limit(lint) -> None:
    assert lint({"k.py": source()}, "k.py", "--max-cost", "100000")[0] == 0
    status, out, _ = lint({"k.py": source()}, "k.py", "--max-cost", "10")
    assert status == 1 and "error [gather-in-loop]" in out


def test_a_baseline_knows_violations_wherever_their_lines_go(lint) -> None:
    files = {"k.py": source()}
    assert lint(files, "k.py", "--write-baseline", "known.json")[0] == 0
    moved = {"k.py": "# a line more\n" + source()}
    assert lint(moved, "k.py", "--baseline", "known.json")[0] == 0
    twice = {"k.py": source().replace("+ k]", "+ k] + x[index[i] - k]")}
    assert lint(twice, "k.py", "--baseline", "known.json")[0] == 1
    Path("wrong.json").write_text("[]")
    assert lint(files, "k.py", "--baseline", "wrong.json")[::2] == (
        2,
        "weft lint: wrong.json: no baseline of weft lint\n",
    )


def test_a_barrier_in_a_divergent_loop(lint) -> None:
    status, out, _ = lint({"b.py": BARRIER}, "b.py")
    assert status == 1
    assert "b.py:8: " in out and "[barrier-in-divergent-loop]" in out


def test_rules_of_gpus_are_asked_for(lint) -> None:
    assert "bank-conflict" not in lint({"s.py": SHARED}, "s.py")[1]
    status, out, _ = lint({"s.py": SHARED}, "s.py", "--gpu")
    assert status == 1
    assert "s.py:11:15: warning [bank-conflict] 32 turns of the banks" in out
    assert "s.py:9:48: warning [uncoalesced] a warp asks for up to 32 sectors" in out


def test_folders_have_files_with_kernels_and_others(lint) -> None:
    files = {
        "pkg/k.py": source(),
        "pkg/plain.py": "raise SystemExit('this file must not be imported')\n",
        "pkg/.hidden/k.py": source(),
        "pkg/k.cl": "kernel void f(global float *x) { x[get_global_id(0) & 3 ? get_global_id(0) : 0] = 1; }\n",
    }
    _, out, err = lint(files, "pkg", "--notes")
    places = {line.split(":")[0] for line in out.splitlines() if not line.startswith(" ")}
    assert places == {"pkg/k.py", "pkg/k.cl"}
    assert "must not" not in err


def test_a_file_that_is_refused_is_an_error_at_its_line(lint) -> None:
    status, out, _ = lint({"k.py": source().replace("x[index[i] + k]", "missing[i]")}, "k.py")
    assert status == 1
    assert out.startswith("k.py:10:21: error [not-compiled] name 'missing' is not defined")


def test_kernels_without_types_are_left_out_and_said_to_be(lint) -> None:
    status, _, err = lint({"k.py": "from weft import cuda\n@cuda.jit\ndef f(x):\n    x[0] = 1\n"}, "k.py")
    assert status == 0
    assert "k.py is left out: the argument types of f(x) are not known" in err


def test_wrong_usage(lint) -> None:
    assert lint({}, "none.py")[0] == 2
    assert lint({"a.txt": ""}, "a.txt")[0] == 2
    assert lint({})[0] == 2


def test_sarif_is_valid_and_has_what_was_told(lint) -> None:
    status, _, _ = lint(
        {"a b/k.py": source()}, "a b/k.py", "--sarif", "out.sarif", "--docs", "https://weft.example"
    )
    assert status == 1
    text = Path("out.sarif").read_text()
    log = sarif_pydantic.Sarif.model_validate_json(text)
    (run,) = log.runs
    assert log.version == "2.1.0"
    rules = run.tool.driver.rules
    assert rules is not None and run.results is not None
    for result in run.results:
        assert result.rule_index is not None and rules[result.rule_index].id == result.rule_id
    # Models take what the format does not have: nothing but this is written.
    data = json.loads(text)
    assert set(data) == {"$schema", "version", "runs"}
    described, results = data["runs"][0]["tool"]["driver"]["rules"], data["runs"][0]["results"]
    for rule in described:
        assert set(rule) == {"id", "shortDescription", "help", "defaultConfiguration", "helpUri"}
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
        assert rule["helpUri"] == f"https://weft.example/docs/lint.md#{rule['id']}"
    result = next(r for r in results if r["ruleId"] == "gather-in-loop")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/k.py", "uriBaseId": "ROOT"}
    assert place["region"] == {"startLine": 10, "startColumn": 21}
    assert set(result["partialFingerprints"]) == {"weft/v1"}


def test_every_rule_is_in_the_documentation_and_in_the_list(capsys) -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/lint.md").read_text()
    assert main(["lint", "--rules"]) == 0
    for line in capsys.readouterr().out.splitlines():
        name, level, *summary = line.split()
        assert f"### {name}\n" in page
        assert f"*{level}*" in page.partition(f"### {name}\n")[2][:40]
        assert summary


def test_the_hook_definition_is_read_as_one() -> None:
    (hook,) = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert hook["entry"] == "weft lint"
