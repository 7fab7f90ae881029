"""Calls of compiled functions by machine code do what those through Python do, and hand over what they do not know."""

import ctypes
import gc
import os
import pickle
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.frontend.python.types import NoneType
from weft.loops.jit_function import JitFunction
from weft.runtime.dispatch import calls
from weft.runtime.dispatch_records import argument_words
from weft.types import bool_, float32, int8, int64, uint16, uint64

pytestmark = pytest.mark.skipif(calls() is None, reason="objects lie otherwise here")


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are checked go through Python."""
    monkeypatch.setenv("WEFT_CHECK", "0")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Arguments of calls that go through Python."""
    found: list[tuple[Any, ...]] = []
    plain = JitFunction._call

    def noted(self: JitFunction, *args: Any, **keywords: Any) -> Any:
        found.append((*args, *keywords.values()))
        return plain(self, *args, **keywords)

    monkeypatch.setattr(JitFunction, "_call", noted)
    return found


def twice(x):
    return x + x


def total(a):
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


NUMBERS = (
    *(
        1,
        -(1 << 62),
        2.5,
        True,
        np.float64(2.5),
        np.float32(0.1),
        np.int8(-3),
        np.int16(-300),
        np.int32(-70_000),
    ),
    *(2.5 - 1.5j, complex(0, float("inf")), np.complex128(-1 + 3j), np.complex64(0.1 - 0.7j)),
    *(np.int64(-5), np.uint8(100), np.uint16(30_000), np.uint32(2_000_000_000), np.uint64(1 << 62)),
)


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: f"{type(value).__name__} {value}")
def test_numbers_come_and_go_as_through_python(value: object, seen: list[tuple[Any, ...]]) -> None:
    function = weft.jit(twice)
    first = function(value)
    again = function(value)
    assert len(seen) == 1, "the second call is one of machine code"
    assert again == first and type(again) is type(first)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0),
        np.arange(12.0)[::2],
        np.arange(24.0)[::-3],
        np.zeros(0),
        np.frombuffer(np.arange(3.0).tobytes()),
        np.frombuffer(b"\0" + np.arange(3.0).tobytes(), offset=1),
    ],
    ids=["contiguous", "strided", "backwards", "empty", "read-only", "unaligned"],
)
def test_arrays_of_each_layout_have_records_of_their_own(
    array: np.ndarray, seen: list[tuple[Any, ...]]
) -> None:
    function = weft.jit(total)
    others = np.ones(4), np.ones(8)[::2]
    for given in (array, *others, array, *others):
        assert function(given) == given.sum()
    assert len(seen) == len(function.overloads)


def test_shapes_of_several_dimensions(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def last(a, b):
        return 100 * a.shape[0] + 10 * a.shape[1] + b.shape[0], a[-1, -1]

    @weft.jit
    def corner(a):
        return 100 * a.shape[0] + 10 * a.shape[1] + a[1, 2]

    a = np.arange(20).reshape(4, 5)
    assert [corner(x) for x in (a, a.T, a, a.T)] == [457, 551, 457, 551]
    assert len(seen) == 2
    assert last(a, np.ones(3)) == last(a, np.ones(3)) == (453, 19)
    assert len(seen) == 3


def test_what_has_no_record_goes_through_python(seen: list[tuple[Any, ...]]) -> None:
    class Level(IntEnum):
        HIGH = 3

    function = weft.jit(twice)
    assert function(1) == 2
    for value, wanted in ((Level.HIGH, 6), (np.bool_(True), 2)):
        before = len(seen)
        assert [function(value), function(value)] == [wanted, wanted]
        assert len(seen) == before + 2, value
    with pytest.raises(weft.errors.ArgumentError, match=r"does not fit|int64"):
        function(1 << 70)
    with pytest.raises(weft.errors.ArgumentError, match="bytes"):
        function(b"text")
    with pytest.raises(weft.errors.TypingError, match="no operation 'text'"):
        function("text")
    with pytest.raises(weft.errors.SignatureError):
        function(1, 2)


def test_times_of_all_units_are_of_one_class() -> None:
    same = weft.jit(lambda x: x)
    day, hour = np.datetime64("2020-01-01", "D"), np.datetime64("2020-01-01T10", "h")
    for value in (day, hour, day, hour, np.timedelta64(5, "s"), np.timedelta64(5, "ms")) * 2:
        result = same(value)
        assert result == value and result.dtype == value.dtype


def test_numbers_of_sixteen_bits_become_floats() -> None:
    small = pytest.importorskip("ml_dtypes").bfloat16
    sums = weft.jit("bfloat16(bfloat16, float32)")(lambda x, y: x + y)
    doubled = weft.jit(lambda x: x * 2.0)
    for _ in range(3):
        assert sums(small(1.5), np.float32(2)) == 3.5
        assert doubled(small(1.5)) == doubled(np.float16(1.5)) == 3


def test_keywords_and_defaults(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def scaled(x, by=3, plus=0):
        return x * by + plus

    assert [scaled(2), scaled(2, plus=1), scaled(x=2, by=5), scaled(2, 4, 1), scaled(2, 4, plus=1)] == [
        6,
        7,
        10,
        9,
        9,
    ]
    assert len(seen) == 4, "all are of one type, with four sets of defaults"
    assert scaled(2, by=0.5) == scaled(by=0.5, x=2) == 1.0
    assert len(seen) == 5
    name = "".join(["pl", "us"])
    assert scaled(2, **{name: 2}) == 8, "a name need not be the object that the code has"
    for wrong in (
        lambda: scaled(),
        lambda: scaled(1, x=2),
        lambda: scaled(1, to=2),
        lambda: scaled(1, 2, 3, 4),
    ):
        with pytest.raises(weft.errors.SignatureError):
            wrong()


def test_parameters_that_do_not_come_by_position(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def scaled(x, *, by=3):
        return x * by

    @weft.jit
    def filled(a, value=None, count=(1, 2.5)):
        return count[1] if value is None else value * a

    assert [scaled(2), scaled(2, by=4), scaled(2)] == [6, 8, 6]
    assert len(seen) == 3
    assert [filled(2), filled(2), filled(2, 3), filled(2, count=(7, 0.5))] == [2.5, 2.5, 6, 0.5]
    assert len(seen) == 5


def test_tuples_of_arguments(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def total(pair, last):
        return pair[0] + 10 * pair[1] + 100 * last

    @weft.jit
    def nested(p):
        return p[0][0] + 10 * p[0][1][0] + 100 * p[1][0]

    @weft.jit
    def nothing(p, x):
        return len(p) + x

    a = np.array([7.0])
    for _ in range(2):
        seen.clear()
        assert total((1, 2), 3) == 321 and total((1.5, 2), 3) == 321.5 and total(last=3, pair=(1, 2.5)) == 326
        assert nested(((1, (2,)), a)) == 721 and nested(((1, a), (3,))) == 371
        assert nothing((), 1) == 1 and nothing((1, 2), 1) == 3 and nothing((a, (a, 1)), 1) == 3
    assert not seen
    with pytest.raises(weft.errors.ArgumentError, match=r"does not fit|int64"):
        total((1, 1 << 70), 3)
    many = (1,) * 100
    assert nothing(many, 1) == nothing(many, 1) == 101


def test_tuples_of_results(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def pair(x, y):
        return x, y, x > y, 3

    @weft.jit
    def nested(x):
        return x, (x, 1)

    @weft.jit
    def none(x):
        return ()

    for x, y in ((1, 2.5), (np.float32(0.5), np.uint8(200)), (np.int8(-3), True)):
        first, again = pair(x, y), pair(x, y)
        assert first == again == (x, y, x > y, 3) and list(map(type, first)) == list(map(type, again))
    assert len(seen) == 3
    assert nested(2) == nested(2) == (2, (2, 1)) and none(1) == none(1) == ()


def test_none_is_given_and_returned() -> None:
    @weft.jit
    def fill(a, value=None):
        for i in weft.prange(a.size):
            a[i] = 7 if value is None else value

    a = np.zeros(5)
    assert fill(a, None) is None and fill(a, None) is None
    assert a.tolist() == [7] * 5
    assert fill(a, 3) is None and fill(a, 3) is None
    assert a.tolist() == [3] * 5


@pytest.mark.parametrize(
    ("result", "value", "wanted"),
    [(float32, 0.1, float(np.float32(0.1))), (int8, -1.5, -1), (uint16, 65_535.0, 65_535), (bool_, 2.0, True),
     (uint64, 2.0**63, 1 << 63), (int64, -(2.0**63), -(1 << 63))],
    ids=str,
)  # fmt: skip
def test_results_of_declared_types(result: Any, value: float, wanted: object) -> None:
    @weft.jit(result(weft.types.float64))
    def convert(x):
        return x

    for argument in (value, np.float64(value)):
        found = convert(argument)
        assert found == wanted and type(found) is type(wanted)


def test_new_arrays_are_made_and_their_memory_goes_with_them(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def grid(n, m):
        return np.full((n, m), n * 10.0 + m)

    for _ in range(2):
        made = grid(2, 3)
        assert made.tolist() == [[23.0] * 3] * 2 and made.dtype == np.float64
        assert (
            made.flags.c_contiguous and made.flags.writeable and made.flags.aligned and not made.flags.owndata
        )
        assert pickle.loads(pickle.dumps(made)).tolist() == made.tolist()
        assert grid(0, 3).shape == (0, 3)
    view = grid(4, 4)[1:, ::2]
    gc.collect()
    assert view.tolist() == [[44.0] * 2] * 3
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        grid(1000, 100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert len(seen) == 1


def test_results_that_lead_into_arguments_and_tuples_of_arrays(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def several(a, n):
        made = np.zeros(n)
        return a, a[1:], made, made[1:], (n, a.size)

    @weft.jit
    def itself(a):
        spare = np.zeros(a.size)
        spare[0] = a[0]
        return a

    for _ in range(2):
        a = np.arange(4.0)
        same, part, made, tail, sizes = several(a, 3)
        assert same is a and np.shares_memory(part, a) and np.shares_memory(made, tail) and sizes == (3, 4)
        assert itself(a) is a
    assert len(seen) == 2


@weft.jit
def behind(a):
    return a[1:]


@weft.jit
def backwards(a):
    return a[::-1]


@weft.jit
def turned(a):
    return a.T


@weft.jit
def itself(a):
    return a


@pytest.mark.spread
@pytest.mark.parametrize("function", [behind, backwards, turned, itself], ids=lambda f: f.py_func.__name__)
@pytest.mark.parametrize(
    "take",
    [
        lambda a: a,
        lambda a: a[::-1],
        lambda a: a[:, ::2],
        lambda a: a[1:3, 1],
        lambda a: a.T,
        lambda a: a[:2, :1],
    ],
    ids=["whole", "backwards", "columns", "column", "turned", "two"],
)
def test_views_of_arguments_are_made_by_machine_code(
    function: Any, take: Any, seen: list[tuple[Any, ...]]
) -> None:
    for readonly in (False, True):
        memory = np.arange(24.0).reshape(4, 6).copy()
        argument = take(memory)
        argument.flags.writeable = not readonly
        wanted = function.py_func(argument)
        for _ in range(2):
            function(argument)
        known = len(seen)
        found = function(argument)
        assert len(seen) == known
        assert found.tolist() == wanted.tolist() and np.shares_memory(found, memory)
        assert (found.dtype, found.flags.writeable) == (wanted.dtype, not readonly)
        assert (found.flags.c_contiguous, found.flags.f_contiguous, found.flags.aligned) == (
            wanted.flags.c_contiguous,
            wanted.flags.f_contiguous,
            True,
        )
        assert found is argument or found.base is memory
        assert (function is itself) <= (found is argument)


def test_views_are_of_the_argument_that_they_lead_into(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def chosen(a, b, of_b, n):
        return b[n:] if of_b else a[n:]

    a, b = np.arange(5.0), np.arange(7.0)
    for _ in range(2):
        assert chosen(a, b, True, 2).base is not a
    before = sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(a.dtype)
    for _ in range(20):
        assert chosen(a, b, True, 2).base is b and chosen(a, b, False, 3).base is a
        assert chosen(a, b, True, 0) is b and chosen(a, b, False, 0) is a
        assert chosen(a, b, True, 7).shape == (0,)
    assert (sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(a.dtype)) == before
    tail = chosen(np.full(5, 8.0), b, False, 1)
    gc.collect()
    assert tail.tolist() == [8.0] * 4
    assert len(seen) == 1


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Arguments of calls whose results Python makes."""
    found: list[tuple[Any, ...]] = []
    plain = JitFunction._finish

    def noted(self: JitFunction, record: int, words: bytes, *args: Any) -> Any:
        found.append(args)
        return plain(self, record, words, *args)

    monkeypatch.setattr(JitFunction, "_finish", noted)
    return found


def test_tuples_of_arrays_and_numbers(finished: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def several(a, n):
        first, second, unused = np.full((n, 2), 3.0), np.full(n + 1, 4, dtype=np.int32), np.zeros(n)
        return a, second, n * 2.5, first.T, a[::-1], unused.size, a[a.size :], second.size > 2, first.T.size

    a = np.arange(4.0)
    for _ in range(6):
        same, second, number, turned, back, size, none, large, count = several(a, 3)
        assert same is a and back.tolist() == [3, 2, 1, 0] and np.shares_memory(back, a)
        assert second.tolist() == [4] * 4 and second.dtype == np.int32 and second.flags.writeable
        assert (
            turned.tolist() == [[3.0] * 3] * 2 and turned.flags.f_contiguous and not turned.flags.c_contiguous
        )
        assert (number, size, large, count) == (7.5, 3, True, 6) and none.shape == (0,)
    assert not finished
    kept = [several(a, 100)[k] for _ in range(50) for k in (1, 3)]
    gc.collect()
    assert all((one == (4 if one.ndim == 1 else 3.0)).all() for one in kept)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    references = sys.getrefcount(a), sys.getrefcount(a.dtype)
    for _ in range(300):
        several(a, 50_000)
    assert (sys.getrefcount(a), sys.getrefcount(a.dtype)) == references
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert not finished


def test_arrays_in_one_block_are_made_by_python(finished: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def halves(a):
        made = a * 2
        return made[:2], a, made[2:]

    a = np.arange(4.0)
    for _ in range(3):
        first, same, second = halves(a)
        gc.collect()
        assert first.tolist() == [0, 2] and same is a and second.tolist() == [4, 6]
        assert first.base.owner is second.base.owner
    assert finished
    finished.clear()
    before = sys.getrefcount(a)
    for _ in range(50):
        halves(a)
    finished.clear()
    assert sys.getrefcount(a) == before


def test_errors_are_raised(seen: list[tuple[Any, ...]]) -> None:
    @weft.jit
    def greatest(a, n):
        if n > 5:
            raise KeyError("too large")
        return a.max() + np.zeros(n).size

    for _ in range(2):
        assert greatest(np.ones(3), 1) == 2
        with pytest.raises(ValueError, match="empty"):
            greatest(np.ones(0), 1)
        with pytest.raises(KeyError, match="too large"):
            greatest(np.ones(3), 6)
        with pytest.raises(weft.errors.ArrayShapeError, match="negative extent"):
            greatest(np.ones(3), -1)
    assert len(seen) == 1


def test_nothing_is_kept_nor_lost() -> None:
    function, array = weft.jit(total), np.ones(10)
    function(array)
    before = sys.getrefcount(array), sys.getrefcount(function)
    for _ in range(100):
        function(array)
    assert (sys.getrefcount(array), sys.getrefcount(function)) == before
    twofold = weft.jit(lambda a: a * 2)
    twofold(array)
    before = sys.getrefcount(array.dtype), sys.getrefcount(array), len(gc.get_objects())
    for _ in range(100):
        twofold(array)
    assert (sys.getrefcount(array.dtype), sys.getrefcount(array)) == before[:2]
    assert len(gc.get_objects()) - before[2] < 50


def test_other_threads_and_children_call_as_well(seen: list[tuple[Any, ...]]) -> None:
    function = weft.jit(total)
    a = np.ones(1000)
    assert function(a) == 1000
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(function(a))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1000] * 4
    assert len(seen) == 1, "calls of other threads are of machine code"
    assert _in_child(lambda: function(a) == 1000 and function(a) == 1000)


IN_A_THREAD = """
import threading
import numpy as np
import weft
from weft.loops.jit_function import JitFunction

through_python = []
plain = JitFunction._call
JitFunction._call = lambda self, *args: through_python.append(args) or plain(self, *args)

@weft.jit
def total(a):
    if a.size == 0:
        raise ValueError("empty")
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s

def work():
    for _ in range(100):
        assert total(np.ones(7)) == 7.0
        try:
            total(np.ones(0))
            assert False
        except ValueError:
            pass
    assert len(through_python) == 2, "the first call of a process does not load what calls are made by"
    done.append(True)

done = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert done
with weft.profile() as seen:
    thread = threading.Thread(target=lambda: done.append(total(np.ones(3))))
    thread.start()
    thread.join()
assert len(through_python) == 3 and len(seen.events) >= 1, "who looks on sees calls of threads as well"
"""


def test_a_thread_calls_where_the_main_one_never_did(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(IN_A_THREAD)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FIRST_CALLS = """
import numpy as np
import weft
from weft import cuda
from weft.runtime.dispatch import is_loaded

@weft.jit
def total(a):
    return a.sum()

@cuda.jit
def more(a):
    a[cuda.grid(1)] += 1

a = np.zeros(8)
more[1, 8](a)
total(a)
assert not is_loaded()
WHAT
assert is_loaded() and isinstance(type(HOW).__call__, type(str.join))
for _ in range(3):
    more[1, 8](a)
    total(a)
assert total(a) == 8 * a[0] >= 32
"""


@pytest.mark.parametrize(("what", "how"), [("total(a)", "total"), ("more[1, 8](a)", "more[1, 8]")])
def test_the_first_call_of_a_process_does_not_load_it(what: str, how: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(FIRST_CALLS.replace("WHAT", what).replace("HOW", how))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _in_child(check: Callable[[], bool]) -> bool:
    child = os.fork()
    if not child:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


def test_number_of_threads_is_asked_for_after_it_has_changed() -> None:
    @weft.jit
    def fill(a):
        for i in weft.prange(a.size):
            a[i] = 1

    before = weft.get_num_threads()
    try:
        for count in (1, 2, 1):
            weft.set_num_threads(count)
            for _ in range(2):
                a = np.zeros(100_000, np.uint8)
                fill(a)
                assert a.all()
    finally:
        weft.set_num_threads(before)


def test_code_is_there_as_long_as_calls_know_it() -> None:
    function = weft.jit(twice)
    assert function(2) == 4
    function.overloads.clear()
    gc.collect()
    assert function(2) == 4


def test_object_stays_what_it_was() -> None:
    function = weft.jit(twice)
    assert function(2) == 4
    assert callable(function) and function.__call__(2) == 4
    assert pickle.loads(pickle.dumps(function))(3) == 6
    assert ctypes.c_int64.from_address(function._table).value == 0, "no other function follows"


def rotated(a, turn, out, at):
    for i in range(a.size):
        out[i] = a[i] * turn
    return out[at], out[0] + turn


@pytest.mark.parametrize("type", [np.complex64, np.complex128])
def test_complex_numbers_among_other_arguments(type: type, seen: list[tuple[Any, ...]]) -> None:
    function = weft.jit(rotated)
    a, out = np.arange(5).astype(type) + type(1j), np.zeros(5, type)
    for turn in (type(1j), type(2 - 3j), type(0.5)):
        got = function(a, turn, out, 3)
        assert np.array_equal(out, a * turn)
        assert got == (out[3], out[0] + turn)
    assert len(seen) == 1


def test_more_arguments_than_there_are_places_go_through_python() -> None:
    """None has no slot, but each argument has a place on the stack."""
    assert argument_words([NoneType()] * 64, ()) is not None
    assert argument_words([NoneType()] * 65, ()) is None
