"""``weft opt`` and ``weft passes``: passes by name on a file, P-LLVM between them, and what is refused."""

import pytest

from weft.cli import main
from weft.interp import Memory, run_function
from weft.ir.reader import read_module

LOOP = """
define void @steps(ptr %in, ptr %out, i64 %i) {
entry:
  %from = getelementptr i64, ptr %in, i64 %i
  %n = load i64, ptr %from
  br label %loop
loop:
  %k = phi i64 [ %n, %entry ], [ %less, %loop ]
  %count = phi i64 [ 0, %entry ], [ %more, %loop ]
  %less = lshr i64 %k, 1
  %more = add i64 %count, 1
  %again = icmp ugt i64 %less, 0
  br i1 %again, label %loop, label %done
done:
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %more, ptr %to
  ret void
}
"""
KERNEL = """
declare i64 @weft.local.id(i32)
define void @k(ptr %out) "weft.kernel" {
entry:
  %t = call i64 @weft.local.id(i32 0)
  br label %loop
loop:
  %k = phi i64 [ %t, %entry ], [ %less, %loop ]
  %count = phi i64 [ 0, %entry ], [ %more, %loop ]
  %less = lshr i64 %k, 1
  %more = add i64 %count, 1
  %again = icmp ugt i64 %less, 0
  br i1 %again, label %loop, label %done
done:
  %short = trunc i64 %count to i32
  %at = getelementptr i32, ptr %out, i64 %t
  store i32 %short, ptr %at
  ret void
}
"""
LINEAR = "divergent-loops,linearization,conditions"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "steps.ll"
    path.write_text(LOOP)
    return path


def opt(capsys, *arguments) -> str:
    assert main(["opt", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_chain_of_passes_gives_simd_code(file, capsys):
    text = opt(capsys, file, "--passes", f"canonical,{LINEAR},widening", "--args", "U_U_C", "--width", "4")
    assert "<4 x i64>" in text and "define void @steps.w4(" in text


def test_text_between_passes_is_read_back(file, capsys, tmp_path):
    """Each pass by a command of its own leaves what one command with all of them does."""
    shapes = ("--args", "U_U_C", "--width", "4")
    whole = opt(capsys, file, "--passes", f"canonical,{LINEAR},widening", *shapes)
    current = file
    for number, name in enumerate(("canonical", *LINEAR.split(","), "widening")):
        following = tmp_path / f"{number}.ll"
        opt(capsys, current, "--passes", name, *shapes, "-o", following)
        current = following
    assert current.read_text() == whole


C = """
struct pair { float a, b, c, d, e; };
float shade(struct pair p, const float *t, int i) { return i > 0 ? p.a * t[i] : p.b; }
void add(long n, const float *restrict x, float *restrict y) { for (long i = 0; i < n; i++) y[i] += x[i]; }
"""


@pytest.fixture
def c_file(tmp_path):
    path = tmp_path / "functions.c"
    path.write_text(C)
    return path


def test_c_goes_through_the_lists_for_foreign_code(c_file, capsys):
    shapes = ("--args", "C_U_T", "--width", "4")
    text = opt(capsys, c_file, "--passes", "foreign-functions", "--function", "shade", *shapes)
    assert "<4 x float>" in text and "@_ZGV" in text
    text = opt(capsys, c_file, "--passes", "foreign-loops", "--function", "add", "--width", "4")
    assert "<4 x float>" in text


def test_canonical_form_of_c_is_seen_pass_by_pass(c_file, capsys):
    seen = opt(
        capsys, c_file, "--passes", "foreign-functions", "--function", "shade", "--print-after", "signatures",
        "--print-after", "canonical",
    )  # fmt: skip
    behind = seen.split("; behind ")
    assert [text.split(" of ")[0] for text in behind[1:]] == ["'signatures'", "'canonical'"]
    assert "shade.parts(ptr" in behind[1] and "alloca" in behind[1] and "alloca" not in behind[2]
    alone = opt(capsys, c_file, "--passes", "signatures,inlining,canonical", "--function", "shade")
    assert "shade.parts(ptr" in alone and "alloca" not in alone


def test_linear_text_runs_on_the_interpreter_as_the_source_does(file, capsys, tmp_path):
    linear = tmp_path / "linear.ll"
    opt(capsys, file, "--passes", f"canonical,{LINEAR}", "--args", "U_U_C", "--width", "4", "-o", linear)
    assert "predicate" in linear.read_text()
    import numpy as np

    results = []
    for text in (LOOP, linear.read_text()):
        given, out, memory = np.array([1, 9, 200, 3], np.int64), np.zeros(4, np.int64), Memory()
        places = [memory.map_array(given), memory.map_array(out)]
        run_function(read_module(text), "steps", [*places, np.arange(4, dtype=np.uint64)], 4, memory=memory)
        results.append(out.tolist())
    assert results[0] == results[1] == [1, 4, 8, 2]


def test_programs_are_printed_after_passes(file, capsys):
    text = opt(
        capsys, file, "--passes", f"canonical,{LINEAR}", "--args", "U_U_T", "--print-after", "divergent-loops"
    )
    assert "; behind 'divergent loops' of @steps" in text and "linearization" not in text


def test_passes_in_a_wrong_order_are_refused(file, capsys):
    assert main(["opt", str(file), "--passes", "canonical,linearization", "--args", "U_U_C"]) == 1
    error = capsys.readouterr().err
    assert "'linearization' needs a program that is free of divergent loops" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "unroll"], "there is no pass 'unroll'"),
        (["--passes", "canonical", "--print-after", "unroll"], "there is no pass 'unroll'"),
        (["--passes", "canonical", "--width", "6"], "6 lanes: the number of lanes is a power of two"),
        (["--passes", "canonical", "--function", "stops"], "defines no function 'stops'"),
        (["--passes", "foreign-loops", "--loop", "nowhere"], "has no loop with header 'nowhere'"),
        (["--passes", "kernels", "--without", "linearization"], "no optional pass 'linearization'"),
        (["--passes", "linearization", "--args", "U_U_U_U"], "steps has 3 arguments"),
    ],
)
def test_wrong_wishes_are_answered(file, capsys, arguments, message):
    assert main(["opt", str(file), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_whole_list_runs_on_a_kernel(tmp_path, capsys):
    kernel = tmp_path / "kernel.ll"
    kernel.write_text("""
declare i64 @weft.local.id(i32)
define void @k(ptr %out) "weft.kernel" {
  %t = call i64 @weft.local.id(i32 0)
  %at = getelementptr i64, ptr %out, i64 %t
  store i64 %t, ptr %at
  ret void
}
""")
    text = opt(capsys, kernel, "--passes", "kernels", "--width", "8")
    assert "@k.groups(" in text and "<8 x i64>" in text


@pytest.mark.parametrize("passes", ["canonical", "loops"])
def test_passes_are_timed_alone_and_in_lists(file, capsys, passes):
    assert main(["opt", str(file), "--passes", passes, "--time"]) == 0
    assert " ms  canonical" in capsys.readouterr().err


def test_switches_hold_for_single_passes(file, capsys):
    wanted = (file, "--passes", f"canonical,{LINEAR},widening", "--args", "U_U_U", "--width", "4")
    assert "<4 x i64>" not in opt(capsys, *wanted)
    assert "<4 x i64>" in opt(capsys, *wanted, "--no-uniform-values")


def test_optional_passes_of_a_list_can_be_left_out(tmp_path, capsys):
    kernel = tmp_path / "kernel.ll"
    kernel.write_text(KERNEL)
    whole = opt(capsys, kernel, "--passes", "kernels", "--width", "8", "--print-after", "narrow-φs")
    without = opt(
        capsys,
        kernel,
        "--passes",
        "kernels",
        "--width",
        "8",
        "--without",
        "narrow-phis",
        "--print-after",
        "narrow-φs",
    )
    assert "behind 'narrow φs'" in whole and not without


def test_lists_are_printed(capsys):
    assert main(["passes", "kernels"]) == 0
    text = capsys.readouterr().out
    names = [line.split()[0] for line in text.splitlines()[1:4]]
    assert names == ["turned-loops", "known-parameters", "canonical"] and "    linearization" in text
    assert "foreign" not in text
