"""Nests in loops over `prange` that are proved to be parallel: what they compute, and where they stay as promised."""

import math
import os
import random
import re
import textwrap
from collections.abc import Callable

import numpy as np
import pytest

import weft
from weft import prange
from weft.errors import UnsupportedError

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
PROGRAMS = 40 if os.environ.get("WEFT_FUZZ") else 2
DRAW = np.random.default_rng(17)


def multiply(a, b, c):
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def multiply_by_totals(a, b, c):
    for i in prange(a.shape[0]):
        for j in prange(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def convolve(x, w, y):
    for o in prange(w.shape[0]):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                total = 0.0
                for c in range(x.shape[0]):
                    for p in range(w.shape[2]):
                        total += x[c, i + p, j] * w[o, c, p]
                y[o, i, j] = total


def normalize(a, b):
    for i in prange(a.shape[0]):
        most = a[i, 0]
        for j in range(a.shape[1]):
            most = max(most, a[i, j])
        total = 0.0
        for j in range(a.shape[1]):
            b[i, j] = math.exp(a[i, j] - most)
            total += b[i, j]
        for j in range(a.shape[1]):
            b[i, j] /= total


def relax(a, times):
    for _ in range(times):
        for i in prange(a.shape[0]):
            for k in range(3):
                for j in range(1, a.shape[1]):
                    a[i, j] += 0.5 * a[i, j - 1] + k


def longest_paths(steps, best):
    for i in prange(steps.shape[0]):
        for k in range(1, steps.shape[1]):
            for j in range(1, best.shape[1]):
                best[i, j] = max(best[i, j - 1], best[i, j]) + steps[i, k]


def filtered(a, w, out):
    """Whether an index is negative is known by none of the tests before the nest."""
    high = w.shape[0] // 2
    for y in prange(a.shape[0]):
        for x in prange(a.shape[1]):
            total = 0.0
            for dy in range(-high, high + 1):
                for dx in range(-high, high + 1):
                    if y + dy >= 0 and y + dy < a.shape[0] and x + dx >= 0 and x + dx < a.shape[1]:
                        total += w[dy + high, dx + high] * a[y + dy, x + dx]
            out[y, x] = total


def add_to_rows(rows, a, b, c):
    for i in prange(rows.size):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[rows[i], j] += a[i, k] * b[k, j]


def numbers(*shape):
    """Of which sums are exact in any order."""
    return DRAW.integers(0, 9, shape).astype(np.float64)


def called(function, arguments, **options):
    """The function, when it has changed its arguments as a loop in order does."""
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    function(*wanted)
    made = weft.jit(function, **options)
    made(*arguments)
    for got, want in zip(arguments, wanted, strict=True):
        assert np.array_equal(got, want) or np.allclose(got, want, rtol=1e-13)
    return made


def is_proved(made) -> bool:
    return any("the iterations of this loop are independent" in r.message for r in made.remarks)


@pytest.mark.parametrize("level", LEVELS)
def test_products_of_matrices_share_what_they_load(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    made = called(multiply, (numbers(5, 11), numbers(11, 20), numbers(5, 20)))
    assert is_proved(made)
    assert any("have changed places" in r.message for r in made.remarks)
    assert any("share what they load" in r.message for r in made.remarks)


def test_sums_of_floats_are_formed_in_their_order() -> None:
    a, b = DRAW.random((5, 30)), DRAW.random((30, 20))
    got, wanted = np.empty((5, 20)), np.empty((5, 20))
    weft.jit(multiply)(a, b, got)
    multiply(a, b, wanted)
    assert (got == wanted).all()


@pytest.mark.parametrize("function", [multiply, multiply_by_totals], ids=lambda f: f.__name__)
def test_products_of_any_shape(function) -> None:
    made = weft.jit(function)
    for m, k, n in ((0, 4, 7), (1, 1, 1), (3, 0, 5), (4, 70, 3), (9, 10, 37)):
        a, b, wanted = numbers(m, k), numbers(k, n), numbers(m, n)
        got = wanted.copy()
        function(a, b, wanted)
        made(a, b, got)
        assert (got == wanted).all()


def test_nests_over_small_windows() -> None:
    assert is_proved(called(convolve, (numbers(2, 6, 18), numbers(3, 2, 3), numbers(3, 4, 18))))


def test_loops_that_call_mathematics_run_in_lanes_along_rows() -> None:
    made = called(normalize, (DRAW.random((5, 70)), np.empty((5, 70))), fastmath=True)
    assert is_proved(made)
    assert any("lanes" in r.message or "at a time, and all cores share" in r.message for r in made.remarks)


def test_rows_that_are_the_same_arrays_run_as_promised() -> None:
    """Each iteration reads what it has written itself."""
    a = DRAW.random((6, 50))
    wanted = a.copy()
    normalize(wanted, wanted)
    weft.jit(normalize, fastmath=True)(a, a)
    assert np.allclose(a, wanted, rtol=1e-13)


def test_nests_of_which_nothing_is_proved_run_as_promised() -> None:
    made = called(add_to_rows, (DRAW.permutation(7), numbers(7, 20), numbers(20, 30), numbers(7, 30)))
    assert not is_proved(made)
    assert not is_proved(called(relax, (numbers(5, 60), 2)))
    # Its inner loops run in order, and lanes along the outermost are all that there is.
    assert not is_proved(called(longest_paths, (numbers(9, 8), np.zeros((9, 12)))))


def vote(splits, left, x, votes):
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for t in range(splits.shape[0]):
            node = 0
            for _ in range(3):
                node = 2 * node + 1 if x[i, t & 3] < splits[t, node] else 2 * node + 2
            total += left[t, node - 7]
        votes[i] = total


@pytest.mark.parametrize("level", LEVELS)
def test_tests_that_never_hold_are_no_reason_to_run_in_order(level: str, monkeypatch) -> None:
    """Of a node nothing is known but that it is twice a number of 64 bits at most, for which there is no test."""
    monkeypatch.setenv("WEFT_CPU", level)
    splits, left = DRAW.random((5, 7)).astype(np.float32), DRAW.random((5, 8)).astype(np.float32)
    x, votes = DRAW.random((37, 4)).astype(np.float32), np.zeros(37, np.float32)
    compiled = weft.jit(vote, fastmath=True)
    compiled(splits, left, x, votes)
    wanted = votes.copy()
    vote(splits, left, x, wanted)
    np.testing.assert_allclose(votes, wanted, rtol=1e-5)
    assert "weft.parallel" in "".join(compiled.inspect_llvm().values())


def test_nests_whose_tests_fail_run_in_lanes_as_promised() -> None:
    made = called(filtered, (numbers(9, 70), numbers(3, 3), numbers(9, 70)), fastmath=True)
    assert is_proved(made)
    told = [r.message for r in made.remarks if "where what was assumed of it does not hold" in r.message]
    assert told and all("at a time, and all cores share both loops" in message for message in told)
    called(filtered, (numbers(9, 70), numbers(1, 1), numbers(9, 70)), fastmath=True)


def test_what_breaks_its_promise_is_refused() -> None:
    @weft.jit
    def broken(a, b, c):
        for i in prange(a.shape[0]):
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    c[0, j] += a[i, k] * b[k, j]

    with pytest.raises(UnsupportedError, match="this prange cannot run in parallel"):
        broken(numbers(3, 4), numbers(4, 5), numbers(1, 5))


def drawn(rng: random.Random) -> str:
    """A nest over i, which is promised, and others in any order, that updates elements which i chooses."""
    inner = ["j", "k"]
    rng.shuffle(inner)
    kept = ["i", *(["j"] if rng.random() < 0.7 else [])]
    rng.shuffle(kept)

    def place(array: str, counters: list[str], moved: str = "ijk") -> str:
        return f"{array}[{', '.join(c + rng.choice(['', ' + 1'] if c in moved else ['']) for c in counters)}]"

    factors = [place(a, rng.sample(["i", "j", "k"], 2)) for a in "ab"]
    # Each iteration of the first loop has a row, or a column, of its own.
    target = place("c", kept, "jk") if len(kept) == 2 else "c[i, 0]"
    before = ""
    if kept[0] == "i" and rng.random() < 0.5:
        before = f"    for j in range(n):\n        c[i, j + 1] = {place('b', ['i', 'j'])}\n"
    header = "".join("    " * (d + 1) + f"for {c} in range(n):\n" for d, c in enumerate(inner))
    body = (
        f"            {target} {rng.choice(['+=', '=', '-='])} {factors[0]} {rng.choice('*+')} {factors[1]}\n"
    )
    nest = textwrap.indent(before + header + body, "    ")
    return f"def nest(a, b, c, n):\n    for i in prange(n):\n{nest}"


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_nests(seed: int, tmp_path) -> None:
    rng = random.Random(seed)
    text = drawn(rng)
    file = tmp_path / "nest.py"
    file.write_text(text)
    names = {"prange": prange}
    exec(compile(text, str(file), "exec"), names)
    n = rng.choice([5, 12, 20])
    called(names["nest"], (numbers(n + 1, n + 1), numbers(n + 1, n + 1), numbers(n + 1, n + 1), n))


def smallest_around(a, out):
    h, w = out.shape
    for y in prange(h):
        for x in range(w):
            if 0 < y < h - 1 and 0 < x < w - 1:
                out[y, x] = min(a[y, x - 1], a[y, x], a[y, x + 1], a[y - 1, x], a[y + 1, x])


def looked_up_along_rows(a, places, out):
    for y in prange(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = a[y, places[x]] + a[0, x]


def swapped_in_own_rows(a, out):
    for y in prange(out.shape[0]):
        v = np.empty(8, np.uint8)
        for k in range(8):
            v[k] = a[y, k]
        for s in range(8):
            for k in range(s & 1, 7, 2):
                if v[k] > v[k + 1]:
                    v[k], v[k + 1] = v[k + 1], v[k]
        for k in range(8):
            out[y, k] = v[k]


def resized(a, out):
    """Of the places that are looked up nothing is known before the nest: nor that adding 1 does not wrap around."""
    along, down = a.shape[1] / out.shape[1], a.shape[0] / out.shape[0]
    for y in prange(out.shape[0]):
        top = int(down * y)
        bottom = min(top + 1, a.shape[0] - 1)
        for x in range(out.shape[1]):
            left = int(along * x)
            right = min(left + 1, a.shape[1] - 1)
            out[y, x] = (
                (a[top, left] >> 2) + (a[top, right] >> 2) + (a[bottom, left] >> 2) + (a[bottom, right] >> 2)
            )


def moved_in_place(a, out):
    """Each element of the first row is updated at a place that is looked up, in the array that is read, too."""
    for y in prange(out.shape[0]):
        for x in range(out.shape[1] - 1):
            place = int(0.5 * x)
            out[y, x] = a[y, place + 1] + out[y, x + 1]


@pytest.mark.parametrize("level", LEVELS)
def test_rows_that_look_up_places_in_arrays_that_are_only_read_are_in_lanes(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(6).integers(0, 255, (9, 50)).astype(np.uint8)
    compiled = weft.jit(resized)
    out, wanted = np.zeros((13, 77), np.uint8), np.zeros((13, 77), np.uint8)
    compiled(a, out)
    resized(a, wanted)
    assert np.array_equal(out, wanted)
    assert "and all cores share both loops" in " ".join(map(str, compiled.remarks))


def test_what_is_looked_up_where_it_is_stored_runs_as_promised() -> None:
    """Of one array, and of two that share rows, no iteration of the inner loop may run before another."""
    start = np.random.default_rng(7).integers(0, 9, (6, 40)).astype(np.int64)
    compiled = weft.jit(moved_in_place)
    for shared in (True, False):
        got, wanted = start.copy(), start.copy()
        compiled(got if shared else start, got)
        moved_in_place(wanted if shared else start, wanted)
        assert np.array_equal(got, wanted)


def mixed(table, places, out):
    """Neighbours at places that are looked up, with stores between."""
    for i in prange(out.shape[0]):
        k = int(places[i])
        for c in range(3):
            out[i, c] = table[k, 0] + 2 * table[k, 1] + 4 * table[k, 2] + table[k + 1, c]


@pytest.mark.parametrize("level", LEVELS)
def test_neighbours_across_stores_are_loaded_together_where_arrays_are_apart(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    table = DRAW.integers(0, 9, (50, 3)).astype(np.float32)
    places, out, wanted = DRAW.random(37) * 48, np.zeros((37, 3), np.float32), np.zeros((37, 3), np.float32)
    compiled = weft.jit(mixed)
    compiled(table, places, out)
    mixed(table, places, wanted)
    assert np.array_equal(out, wanted)
    # The call sees to it.
    assert not any("this load stays" in r.message or "assumed" in r.message for r in compiled.remarks)
    memory, same = (np.hstack([table, table]) for _ in range(2))
    compiled(memory[:, :3], places, memory[:37, 3:])
    mixed(same[:, :3], places, same[:37, 3:])
    assert np.array_equal(memory, same)
    (code,) = compiled._of_others.values()
    told = [r.message for r in code.remarks()]
    kept = next(
        i for i, message in enumerate(told) if "where what was assumed of it does not hold" in message
    )
    # Only where arrays overlap it has to load again what a store may have changed.
    stays = ["this load stays" in message for message in told]
    assert any(stays[kept:]) and not any(stays[:kept])


def rotate(m, v, out):
    """Four numbers are written with loads from other arrays between."""
    for i in prange(out.shape[0]):
        for r in range(4):
            total = np.float32(0)
            for c in range(4):
                total += m[i, r, c] * v[i, c]
            out[i, r] = total


def brighten(a, out, gain):
    """The same in a loop that nobody promises anything of."""
    for y in prange(a.shape[0]):
        for x in range(a.shape[1]):
            for c in range(3):
                out[y, x, c] = a[y, x, c] * gain


def scale_rows(a, factors, out):
    for i in prange(a.shape[0]):
        for r in range(a.shape[1]):
            out[i, r] = a[i, r] * factors[i] + a[i, 0]


def test_short_rows_are_vectors_where_arrays_are_apart(monkeypatch) -> None:
    """Of their length LLVM would not ask for it in front of each row."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    a, factors = DRAW.integers(0, 9, (100, 24)).astype(np.float32), np.arange(100, dtype=np.float32)
    out, compiled = np.zeros_like(a), weft.jit(scale_rows)
    compiled(a, factors, out)
    assert np.array_equal(out, a * factors[:, None] + a[:, :1])
    assert is_proved(compiled)
    # What is stored is read again where they overlap.
    got, wanted = a.copy(), a.copy()
    compiled(got, factors, got)
    scale_rows(wanted, factors, wanted)
    assert np.array_equal(got, wanted)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [rotate, brighten])
def test_structures_are_written_together_where_arrays_are_apart(function, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    if function is rotate:
        given = [DRAW.integers(0, 9, shape).astype(np.float32) for shape in ((400, 4, 4), (400, 4))]
        out, more = np.zeros((400, 4), np.float32), []
    else:
        given = [DRAW.integers(0, 9, (5, 400, 3)).astype(np.float32)]
        out, more = np.zeros((5, 400, 3), np.float32), [np.float32(2)]
    wanted, compiled = out.copy(), weft.jit(function)
    for _ in range(2):
        compiled(*given, out, *more)
        function(*given, wanted, *more)
        assert np.array_equal(out, wanted)
    assert function is rotate or is_proved(compiled)
    told = [r.message for r in compiled.remarks]
    assert any("this store is made by wide accesses" in message for message in told)
    # In place it runs as promised.
    if function is brighten:
        again = given[0].copy()
        compiled(again, again, np.float32(2))
        assert np.array_equal(again, given[0] * 2)


@pytest.mark.parametrize("level", LEVELS)
def test_neighbours_that_are_stored_over_are_loaded_again(level, monkeypatch) -> None:
    """Each iteration reads the row that it stores, element by element, and one that nobody stores."""
    monkeypatch.setenv("WEFT_CPU", level)
    rows = DRAW.integers(0, 9, (75, 3)).astype(np.float32)
    places = np.arange(0.0, 74.0, 2.0)
    got, wanted = rows.copy(), rows.copy()
    weft.jit(mixed)(got, places, got[::2][:37])
    mixed(wanted, places, wanted[::2][:37])
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("level", LEVELS)
def test_rows_with_branches_and_loads_elsewhere_are_in_lanes(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(3).integers(0, 99, (9, 150)).astype(np.uint8)
    places = np.random.default_rng(4).integers(0, 150, 150)
    programs: list[tuple[Callable[..., None], tuple[np.ndarray, ...]]] = [
        (smallest_around, (a,)),
        (looked_up_along_rows, (a, places)),
    ]
    for function, given in programs:
        # With its guard as bounds a row would have no branches.
        compiled = weft.jit(without=("guard-bounds",))(function)
        out, wanted = np.zeros_like(a), np.zeros_like(a)
        compiled(*given, out)
        with np.errstate(over="ignore"):
            function(*given, wanted)
        assert np.array_equal(out, wanted)
        assert "and all cores share both loops" in " ".join(map(str, compiled.remarks))


def test_lanes_stay_along_a_loop_whose_iterations_have_objects() -> None:
    compiled = weft.jit(swapped_in_own_rows)
    a = np.random.default_rng(5).integers(0, 99, (90, 8)).astype(np.uint8)
    out = np.zeros_like(a)
    compiled(a, out)
    assert np.array_equal(out, np.sort(a))
    remarks = " ".join(map(str, compiled.remarks))
    assert "on all cores" in remarks and "share both loops" not in remarks


def chosen_neighbours(size, way, out):
    """The larger of two neighbours, which another array chooses: loads of a place where branches meet."""
    for y in prange(1, size.shape[0] - 1):
        for x in range(1, size.shape[1] - 1):
            if way[y, x] == 0:
                a, b = size[y, x - 1], size[y, x + 1]
            elif way[y, x] == 1:
                a, b = size[y - 1, x], size[y + 1, x]
            else:
                a, b = size[y - 1, x - 1], size[y + 1, x + 1]
            out[y, x] = size[y, x] if size[y, x] >= a and size[y, x] >= b else 0


@pytest.mark.parametrize("width", [None, 8])
def test_chosen_places_along_rows_have_lanes_along_the_row(width) -> None:
    """At an explicit width, too: it says how many lanes there are, not along which loop."""
    size, way = DRAW.random((9, 43)).astype(np.float32), DRAW.integers(0, 3, (9, 43)).astype(np.int8)
    out, wanted = np.zeros_like(size), np.zeros_like(size)
    compiled = weft.jit(chosen_neighbours, width=width)
    compiled(size, way, out)
    chosen_neighbours(size, way, wanted)
    assert np.array_equal(out, wanted)
    assert "and all cores share both loops" in " ".join(map(str, compiled.remarks))


def states(seen, start, out):
    """Four states of a chain, in a small array of each iteration."""
    for i in prange(out.size):
        now, then = np.empty(4, np.float32), np.empty(4, np.float32)
        for s in range(4):
            now[s] = start[s, seen[i, 0]]
        for k in range(1, seen.shape[1]):
            total = np.float32(0)
            for s in range(4):
                then[s] = (now[0] + now[s]) * start[s, seen[i, k]]
                total += then[s]
            for s in range(4):
                now[s] = math.sqrt(then[s] / total)
        out[i] = now[0] + now[3]


def test_loops_of_four_that_fill_small_arrays_leave_the_lanes_to_the_loop_around_them() -> None:
    seen, start = DRAW.integers(0, 3, (19, 5)).astype(np.int32), DRAW.random((4, 3)).astype(np.float32) + 1
    out, wanted = np.zeros((2, 19), np.float32)
    compiled = weft.jit(states)
    compiled(seen, start, out)
    states(seen, start, wanted)
    assert np.allclose(out, wanted, rtol=1e-5)
    assert not any("runs 4 iterations at a time" in str(each) for each in compiled.remarks)


def turned(a, out):
    for z in prange(a.shape[0]):
        for y in range(a.shape[1]):
            for x in range(a.shape[2]):
                out[x, z, y] = a[z, y, x]


@pytest.mark.parametrize("level", LEVELS)
def test_rows_that_are_stored_along_another_loop_inside_run_in_boxes(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    made = called(turned, (DRAW.random((3, 21, 18)), np.zeros((18, 3, 21))))
    assert is_proved(made)
    assert any("as a box of" in r.message and "by the cost model" in r.message for r in made.remarks)


def heads_turned(a, out):
    for n in prange(a.shape[0]):
        for t in range(a.shape[1]):
            for h in range(a.shape[2]):
                for d in range(a.shape[3]):
                    out[n, h, d, t] = a[n, t, h, d]


def test_boxes_are_cut_out_of_the_three_innermost_of_four_loops(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    made = called(heads_turned, (DRAW.random((2, 13, 3, 17)), np.zeros((2, 3, 17, 13))))
    assert is_proved(made)
    # Rows are read along the innermost loop and stored along the second one.
    assert any(re.search(r"as a box of \d+x1x\d+, .* by the cost model", r.message) for r in made.remarks)


def scores(q, k, out):
    for n in prange(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                for j in range(k.shape[2]):
                    total = np.float32(0)
                    for d in range(q.shape[3]):
                        total += q[n, h, i, d] * k[n, h, j, d]
                    out[n, h, i, j] = total


def test_a_fourth_loop_around_sums_of_far_rows_is_in_no_box(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    q, k = (DRAW.random((2, 3, n, 5)).astype(np.float32) for n in (9, 11))
    made = called(scores, (q, k, np.zeros((2, 3, 9, 11), np.float32)))
    boxes = [r.message for r in made.remarks if "by the cost model" in r.message]
    assert all("as a box of 4x1x8" in message for message in boxes)


def test_rows_that_are_turned_within_one_array_run_as_promised() -> None:
    """What is stored in an iteration of the outer loop is read in it, in the order of its loops."""

    def within(a):
        for z in prange(a.shape[0]):
            for y in range(a.shape[1]):
                for x in range(a.shape[2]):
                    a[z, x, y] = a[z, y, x] + 1

    called(within, (numbers(3, 20, 20),))


def halved(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            left, steps = a[i, j], 0
            while left > 1:
                left >>= 1
                steps += 1
            out[i, j] = steps


def test_loops_that_do_not_count_are_in_lanes_along_rows_that_are_long() -> None:
    made = None
    for columns in (130, 11):
        a = DRAW.integers(0, 1 << 20, (70, columns)).astype(np.int32)
        made = called(halved, (a, np.zeros_like(a)))
    assert made is not None and is_proved(made)
    told = " ".join(r.message for r in made.remarks)
    assert "and all cores share both loops" in told and "where what was assumed of it does not hold" in told
