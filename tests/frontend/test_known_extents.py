"""Shapes are checked where arrays meet, and once: what behaves as NumPy's does, and how many checks there are."""

import linecache
import re

import numpy as np
import pytest

import weft
from frontend.kernels import text_of
from weft import errors
from weft.frontend.python.lowering.places import Place

RANDOM = np.random.default_rng(11)
MATRIX = np.zeros((3, 4))


def made_of(lines, parameters="a, b, c, d", result="return a, b, c, d"):
    """A function of these lines."""
    text = "\n    ".join([f"def written({parameters}):", *lines, result])
    name = f"<written {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {}
    exec(compile(text, name, "exec"), scope)
    return scope["written"]


def counted(lines, *examples, parameters="a, b, c, d", result="return a, b, c, d"):
    """How many branches to errors of shapes the front end makes of these lines, and how many loops."""
    text = text_of(made_of(lines, parameters, result), *examples, device=True)
    # Memory may be missing for each array that is made.
    checks = text.count("call void @weft_heap_fail(") - text.count("call ptr @weft_heap_allocate(")
    return checks, len(re.findall(r"^each\.body", text, re.MULTILINE))


ROUND = ("c = a * 2.0 + b", "d = c - a", "c = d * b + c", "a = c + d", "b = a - d * 0.5")


@pytest.mark.parametrize("kind", ["names", "elements", "slices"])
def test_more_expressions_have_no_more_checks(kind):
    lines = {
        "names": ROUND,
        "elements": [line.replace(" =", "[:] =", 1) for line in ROUND],
        "slices": [
            "a[1:-1, 1:-1] = b[1:-1, 2:] - b[1:-1, :-2] + b[2:, 1:-1] * 0.5",
            "b[1:-1, 0] = a[1:-1, 1] - a[2:, -1] + a[:-2, 2]",
            "c[2:] = a[1:-1] - a[:-2] * b[2:]",
        ],
    }[kind]
    checks = [counted(lines * n, *[MATRIX] * 4)[0] for n in (1, 2, 4, 8)]
    assert 0 < checks[0] <= 6
    assert checks[1:] == checks[1:2] * 3, "what has been checked is known in all further rounds"


def test_what_has_been_checked_is_one_loop():
    once, *more = (counted(ROUND * n, *[MATRIX] * 4)[1] for n in (1, 2, 3, 4))
    assert once > len(ROUND), "extents of 1 have loops of their own"
    assert more[1] - more[0] == more[2] - more[1] == len(ROUND)


def test_slices_that_leave_out_as_much_are_not_compared():
    lines = ["c = a[1:-1] + a[2:] * a[:-2]"]
    assert counted(lines, MATRIX, parameters="a", result="return c") == (0, 1)


def test_one_branch_asks_for_all_extents():
    cubes = np.zeros((2, 3, 4)), np.zeros((2, 3, 4))
    assert counted(["c = a + b"], *cubes, parameters="a, b", result="return c")[0] == 1
    assert counted(["a[:] = b"], *cubes, parameters="a, b", result="return a")[0] == 1


def test_llvm_gets_as_many_checks_of_more_expressions():
    found: list[tuple[int, int]] = []
    for n in (2, 4):
        function = weft.jit(made_of(ROUND * n))
        function(*[MATRIX] * 4)
        (compiled,) = function.overloads.values()
        text = compiled.lowered().text
        found.append((text.count("@weft_heap_fail("), text.count("@weft_heap_allocate(")))
    (fewer, arrays), (more, more_arrays) = found
    assert more - fewer == more_arrays - arrays, "what grows is that memory may be missing"


def test_memory_that_is_new_overlaps_with_none():
    text = text_of(made_of(["c = a.copy()", "a[1:] = c[:-1] * 2.0"], "a", "return c"), MATRIX, device=True)
    assert "ptrtoint" not in text
    assert "ptrtoint" in text_of(made_of(["a[1:] = a[:-1] * 2.0"], "a", "return a"), MATRIX, device=True)


def shapes(*extents):
    return [RANDOM.normal(size=shape) for shape in extents]


def agree(function, *arguments):
    """See that compiled code gives what NumPy gives, and changes arrays as it does."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    made, wanted = weft.jit(function)(*copies), function(*arguments)
    for one, other in zip((*made, *copies), (*wanted, *arguments), strict=True):
        np.testing.assert_allclose(one, other)
        assert np.shape(one) == np.shape(other)


def growing(a, b, n):
    c = a
    for k in range(n):
        c = c + b
        if k % 2:
            b = c * 0.5
    d = c - a
    return c, d + b, d


def by_branches(a, b, c, n):
    if n > 0:
        a = b + c
    d = a * 2.0
    if n > 1:
        b = d + a
    elif n < 0:
        b = a + c
        a = b - a
    return a + b, d * a


def changing(a, b, c, n):
    d = a + b
    while n > 0:
        d = d + c
        c = d[1:-1]
        d = c - c[:1]
        n -= 1
    return (d, c)


def used_before(a, b, n):
    c = a
    for _ in range(n):
        for _ in range(2):
            d = c * 2.0
            c = b[: len(c) - 1]
        e = c + 1.0
        c = np.ones(len(d) + 1)
    return c, d, e


def left_early(a, b, c, n):
    d = a
    for k in range(n):
        d = a + b
        if k == 2:
            d = c
            break
        d = d + a
    return d * 2.0, d + c[:1]


def chosen(a, b, c, n):
    d = a if n > 1 else (a + b if n else c)
    return d + d, d * d[:1]


def items(a, b, c, n):
    for x in (a, b, c):
        c = x + c[:1]
    return c, c * a[:1] + n


def outer(a, b):
    return a[:, None] * b + a[:, None], b + a[:, None], a[:, None] - b[None, :]


CASES = [
    (growing, [shapes((1,), (5,)), shapes((5,), (1,)), shapes((5,), (5,))], (0, 1, 3)),
    (by_branches, [shapes((4,), (4,), (1,)), shapes((1,), (4,), (4,)), shapes((1,), (1,), (1,))], (-1, 0, 1, 2)),
    (changing, [shapes((9,), (1,), (9,)), shapes((9,), (9,), (1,)), shapes((1,), (1,), (9,))], (0, 1)),
    (used_before, [shapes((6,), (8,))], (1, 3)),
    (left_early, [shapes((6,), (1,), (4,)), shapes((1,), (6,), (6,))], (0, 2, 5)),
    (chosen, [shapes((6,), (1,), (4,)), shapes((1,), (6,), (1,))], (0, 1, 2)),
    (items, [shapes((6,), (6,), (6,)), shapes((1,), (5,), (4,))], (2,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arrays", "n"),
    [(function, arrays, n) for function, sets, numbers in CASES for arrays in sets for n in numbers],
)
def test_what_is_known_is_known_where_it_holds(function, arrays, n):
    agree(function, *map(np.copy, arrays), n)


def test_new_axes_stretch():
    agree(outer, *shapes((4,), (5,)))
    agree(outer, *shapes((1,), (5,)))
    agree(outer, *shapes((4,), (1,)))


@pytest.mark.parametrize("n", range(7))
def test_slices_have_as_many_elements_as_numpys(n):
    function = made_of(
        [
            "return a[1:-1], a[2:], a[:-2], a[3:-1], a[:], a[0:], a[:-5], a[5:-5], a[1:-1][1:-1], a[2:0], a[4:-0]"
        ],
        "a",
        "",
    )
    agree(function, np.arange(float(n)))


def joined_twice(a, b, c):
    d = a + b
    e = d * 2.0 + b
    f = e + c
    return f + d


@pytest.mark.parametrize(
    ("extents", "line"),
    [((3, 4, 4), 1), ((3, 3, 4), 3), ((1, 3, 4), 3), ((4, 1, 2), 3), ((2, 3, 1), 1)],
)
def test_the_first_expression_that_is_wrong_is_blamed(extents, line):
    with pytest.raises(errors.ArrayShapeError, match="do not go together") as caught:
        weft.jit(joined_twice)(*map(np.ones, extents))
    assert caught.value.span is not None
    assert caught.value.span.line == joined_twice.__code__.co_firstlineno + line


def in_some_rounds(a, b, n):
    c = a
    for k in range(n):
        if k == 1:
            c = a + a
        d = c + b
        c = d[1:]
        a = c * 1.0
    return c


def test_a_check_in_a_loop_is_one_of_each_round():
    with pytest.raises(errors.ArrayShapeError) as caught:
        weft.jit(in_some_rounds)(np.ones(5), np.ones(5), 2)
    assert caught.value.span is not None
    assert caught.value.span.line == in_some_rounds.__code__.co_firstlineno + 5
    assert weft.jit(in_some_rounds)(np.ones(5), np.ones(1), 3).shape == (2,)


def behind_an_arm(a, b, n):
    if n:
        c = a + b
        a[:] = c
    a[:] = b
    return a + b


def test_what_an_arm_has_checked_is_checked_behind_it():
    agree(behind_an_arm, *shapes((4,), (1,)), 1)
    with pytest.raises(errors.ArrayShapeError) as caught:
        weft.jit(behind_an_arm)(np.ones(4), np.ones(3), 0)
    assert caught.value.span is not None
    assert caught.value.span.line == behind_an_arm.__code__.co_firstlineno + 4


def rows_of(a, b, out):
    for i in weft.prange(len(out)):
        c = a[i] + b
        out[i] = (c * a[i] + c).sum() + (b + c)[0]


def test_loops_in_parallel_check_their_own():
    a, b, out = RANDOM.normal(size=(20, 6)), RANDOM.normal(size=6), np.zeros(20)
    weft.jit(parallel=True)(rows_of)(a, b, out)
    np.testing.assert_allclose(out, ((a + b) * a + a + b).sum(1) + (2 * b + a)[:, 0])
    with pytest.raises(errors.ArrayShapeError):
        weft.jit(parallel=True)(rows_of)(a, b[:4].copy(), out)


def test_places_are_below_what_is_before_them():
    root = Place()
    chain = [root]
    for _ in range(40):
        chain.append(Place(chain[-1]))
    sides = [Place(chain[k]) for k in (3, 17, 40)]
    deeper = Place(Place(sides[1]))
    for k, place in enumerate(chain):
        assert [place.dominates(other) for other in chain] == [k <= m for m in range(41)]
        assert place.dominates(deeper) == (k <= 17)
    assert deeper.common(chain[30]) is chain[17] and chain[5].common(sides[0]) is chain[3]
    assert sides[2].common(deeper) is chain[17] and root.common(deeper) is root
