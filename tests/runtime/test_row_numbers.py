"""Launches with short rows run code that is made for their length, each its own, from Python and by machine code."""

import numpy as np
import pytest

import weft
from weft import cuda
from weft.opencl import Program
from weft.runtime.row_numbers import FEW, MOST_VERSIONS


def wanted(points, centres):
    squared = ((points[:, None, :].astype(float) - centres[None].astype(float)) ** 2).sum(axis=2)
    return squared.argmin(axis=1).astype(np.int32)


def problem(count, length, dtype=np.float32):
    random = np.random.default_rng(length)
    return random.random((count, length)).astype(dtype), random.random((7, length)).astype(dtype)


def nearest(points, centres, result):
    for i in weft.prange(points.shape[0]):
        best = 0
        least = points.dtype.type(3e38)
        for c in range(centres.shape[0]):
            squared = points.dtype.type(0)
            for d in range(points.shape[1]):
                step = points[i, d] - centres[c, d]
                squared += step * step
            if squared < least:
                least = squared
                best = c
        result[i] = best


def kernel():
    @cuda.jit
    def nearest(points, centres, result):
        i = cuda.grid(1)
        if i < points.shape[0]:
            best = 0
            least = points.dtype.type(3e38)
            for c in range(centres.shape[0]):
                squared = points.dtype.type(0)
                for d in range(points.shape[1]):
                    step = points[i, d] - centres[c, d]
                    squared += step * step
                if squared < least:
                    least = squared
                    best = c
            result[i] = best

    return nearest


def launched(form):
    """A call of the kernel or of the loop, and the versions that there are of it."""
    if form == "loop":
        function = weft.jit(nearest)
        return function, function._versions
    made = kernel()
    return made[10, 32], made._specializations.made


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_each_length_has_its_result(form):
    call, versions = launched(form)
    # Each twice, by Python and by machine code, and in turns.
    for length in (2, 3, 1, 32, 33, 3, 40, 2, 2, 33, 9):
        for count in (301, 5):
            points, centres = problem(count, length)
            for _ in range(2):
                result = np.full(count, -1, np.int32)
                call(points, centres, result)
                assert np.array_equal(result, wanted(points, centres)), (length, count)
    lengths = {dict(key[1] if form == "loop" else key[1].known).get(2) for key in versions}
    assert lengths == {1, 2, 3, 9, 32}


def test_lengths_of_rows_that_are_looked_up_are_known_though_their_loops_stay():
    @weft.jit
    def sums(points, rows, result):
        for i in weft.prange(result.size):
            total = 0.0
            for d in range(points.shape[1]):
                total += points[rows[i], d]
            result[i] = total

    rows = np.random.default_rng(3).integers(-50, 50, 300)
    for length in (3, 9, 16, 32, 33, 9):
        points, result = np.arange(50.0 * length).reshape(50, length), np.zeros(300)
        sums(points, rows, result)
        assert np.array_equal(result, points[rows].sum(axis=1))
    assert {dict(key[1]).get(2) for key in sums._versions} == {3, 9, 16, 32}


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_few_threads_run_the_general_code(form):
    call, versions = launched(form)
    if form == "kernel":
        call = kernel()[2, FEW // 2]
    for _ in range(3):
        points, centres = problem(FEW, 2)
        result = np.full(FEW, -1, np.int32)
        call(points, centres, result)
        assert np.array_equal(result, wanted(points, centres))
    assert not versions


CHAINS = """
kernel void sums(global const float *x, int2 unused, int length, global float *result)
{
    size_t i = get_global_id(0);
    float total = 0;
    for (int d = 0; d < length; d++)
        total = total * 2 + x[i * length + d];
    result[i] = total;
}
"""


def products(a, b, c):
    for i in weft.prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def test_code_that_knows_some_numbers_is_for_no_others(monkeypatch):
    """Be there few elements, or many: machine code makes these calls, which checks would not."""
    monkeypatch.setenv("WEFT_CHECK", "0")
    made = weft.jit(products)
    for rows, inner, columns in ((4, 70, 3), (9, 10, 37), (4, 70, 3), (9, 10, 37), (70, 2, 5), (2, 2, 2)):
        a, b = np.ones((rows, inner)), np.ones((inner, columns))
        c = np.zeros((rows, columns))
        made(a, b, c)
        assert (c == inner).all(), (rows, inner, columns)


def test_kernels_of_c_know_their_numbers():
    sums = Program(CHAINS).sums
    for length in (3, 2, 40, 3):
        x = np.random.default_rng(length).integers(0, 9, (200, length)).astype(np.float32)
        result = np.zeros(200, np.float32)
        sums(200, 8, x, (1, 2), length, result)
        expected = (x * 2.0 ** np.arange(length)[::-1]).sum(axis=1)
        assert np.allclose(result, expected)
    assert sorted(o.known for _, o in sums._specializations.made if o.known) == [((3, 2),), ((3, 3),)]


@pytest.mark.parametrize(
    "place", ["i * length + d", "d + length * i", "i * length - 1 + d + 1", "(i * length + d) * 1u"]
)
def test_places_in_narrow_numbers(place):
    sums = Program(CHAINS.replace("size_t i", "int i").replace("i * length + d", place)).sums
    for length in (3, 2, 40, 3):
        x = np.random.default_rng(length).integers(0, 9, (200, length)).astype(np.float32)
        result = np.zeros(200, np.float32)
        sums(200, 8, x, (1, 2), length, result)
        assert np.allclose(result, (x * 2.0 ** np.arange(length)[::-1]).sum(axis=1))
    assert sorted(o.known for _, o in sums._specializations.made if o.known) == [((3, 2),), ((3, 3),)]


def test_elements_that_are_read_one_by_one():
    @cuda.jit
    def lengths(points, order, result):
        i = cuda.grid(1)
        if i < result.size:
            k = order[i]
            result[i] = points[k, 0] * points[k, 0] + points[k, 1] * points[k, 1] + points[k, -1]

    random = np.random.default_rng(3)
    for length in (2, 3, 2, 16, 17, 3):
        points, order = random.random((300, length)), random.integers(-300, 300, 300)
        result = np.zeros(300)
        lengths[10, 32](points, order, result)
        taken = points[order]
        assert np.allclose(result, taken[:, 0] ** 2 + taken[:, 1] ** 2 + taken[:, -1])
    assert {dict(o.known).get(2) for _, o in lengths._specializations.made if o.known} == {2, 3, 16}


def test_there_are_no_more_versions_than_so_many():
    function = weft.jit(nearest)
    for length in range(1, MOST_VERSIONS + 4):
        points, centres = problem(100, length)
        result = np.full(100, -1, np.int32)
        function(points, centres, result)
        assert np.array_equal(result, wanted(points, centres))
    assert len(function._versions) == MOST_VERSIONS


def test_the_remarks_say_it():
    made = kernel()
    points, centres = problem(300, 2)
    made[10, 32](points, centres, np.zeros(300, np.int32))
    (version,) = made._specializations.made.values()
    assert any("written out" in remark.message for remark in version.remarks)
    assert set(version.remarks) <= set(made.remarks)
    assert version.options.known and not version.row_numbers


def test_the_pass_may_be_left_out():
    function = weft.jit(nearest, without=("short rows",))
    points, centres = problem(300, 2)
    result = np.zeros(300, np.int32)
    function(points, centres, result)
    assert np.array_equal(result, wanted(points, centres)) and not function._versions


class Forms:
    """What is alike in kernels and loops."""

    def __init__(self, form):
        self.made = kernel() if form == "kernel" else weft.jit(nearest)
        self.call = self.made[10, 32] if form == "kernel" else self.made
        self.versions = self.made._specializations.made if form == "kernel" else self.made._versions

    def run(self, length, count=300):
        points, centres = problem(count, length)
        result = np.zeros(count, np.int32)
        self.call(points, centres, result)
        assert np.array_equal(result, wanted(points, centres))

    @property
    def general(self):
        (found,) = self.made.overloads.values()
        return found

    @property
    def is_finished(self):
        return self.general._lowered is not None


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_general_code_is_finished_when_it_is_wanted(form, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    forms = Forms(form)
    forms.run(2)
    forms.run(3)
    assert not forms.is_finished and len(forms.versions) == 2
    for length in (40, 40, 3, 40):
        forms.run(length)
    assert forms.is_finished and len(forms.versions) == 2
    assert forms.general.timings.llvm > 0


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_remarks_are_those_of_general_code_too(form, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    forms = Forms(form)
    forms.run(2)
    remarks = forms.made.remarks
    assert forms.is_finished
    own = forms.general.remarks
    assert set(own if form == "kernel" else own()) <= set(remarks)


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_what_is_compiled_for_a_signature_is_finished(form, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    forms = Forms(form)
    made = forms.made.compile("float32[:, ::1], float32[:, ::1], int32[::1]")
    assert made._lowered is not None and made.timings.llvm > 0


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_the_cache_knows_which_lengths_matter(form, monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    Forms(form).run(2)
    again = Forms(form)
    again.run(2)
    (version,) = again.versions.values()
    assert again.general._started is None and version._started is None and not again.is_finished
    assert not any(again.made.timings.values())
    # Others want general code, which the cache gets, too.
    again.run(40)
    assert again.is_finished
    last = Forms(form)
    last.run(40)
    last.run(2)
    assert not last.is_finished and last.general._started is None
    assert not any(last.made.timings.values())


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_timings_are_those_of_the_code_that_was_made_last(form, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    forms = Forms(form)
    assert not any(forms.made.timings.values())
    forms.run(2)
    (version,) = forms.versions.values()
    assert forms.made.timings == version.timings.as_dict() and all(forms.made.timings.values())
    forms.run(40)
    assert forms.made.timings == forms.general.timings.as_dict()
    assert forms.made.timings != version.timings.as_dict()
