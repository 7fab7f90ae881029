"""Families of programs that grow: each writes one of about so many statements into a text."""

from __future__ import annotations

from collections.abc import Callable

from bench.compile_time.text import Text

Family = Callable[[Text, int], None]


def _chain(step: Callable[[Text, str, str, int], str]) -> Family:
    """Each statement uses the ones before it twice."""

    def write(text: Text, size: int) -> None:
        a, b = text.set("t0", "i + x[i]"), text.set("t1", "i * 3 + n")
        for k in range(2, size):
            a, b = b, text.set(f"t{k}", step(text, a, b, k))
        text.set("y[i]", b)

    return write


def indexed_squares(text: Text, size: int) -> None:
    """An index that is a chain of products: as a polynomial it doubles with each."""
    a = text.set("t0", "i + n + x[0]")
    for k in range(1, size):
        a = text.set(f"t{k}", f"{a} * {a} + {a}")
    text.set(f"y[({a}) & 1023]", "z[i]")


def indexed_shifts(text: Text, size: int) -> None:
    """An index by shifts, or, and, remainders."""
    a = text.set("t0", "i + x[i]")
    for k in range(1, size):
        step = (f"({a} << 1) | {k & 1}", f"({a} & 65535) + i", f"{a} % 4093", f"{a} ^ {k}")[k % 4]
        a = text.set(f"t{k}", step)
    text.set("y[i]", f"z[{a} & 1023]")


def indexed_floors(text: Text, size: int) -> None:
    """An index of quotients and least numbers of the one before, each used twice."""
    a = text.set("t0", "i + n")
    for k in range(1, size):
        half = text.quotient(a, str(k + 1))
        a = text.set(f"t{k}", f"{text.least(f'({half})', 'n')} + {half} + {k}" if k % 2 else f"{half} + {a}")
    text.set(f"y[({a}) & 1023]", "z[i]")


def row_places(text: Text, size: int) -> None:
    """Places in arrays of many extents."""
    a = text.set("t0", "(i + x[0]) * n")
    for k in range(1, size):
        a = text.set(f"t{k}", f"({a} + ({a} + {k}) * n) * m")
    text.set("y[i]", f"z[{a}] + z[{a} + 1]")


def diamonds(text: Text, size: int) -> None:
    """Ifs one behind the other: the ways through them double."""
    a = text.set("t", "x[i]")
    for k in range(size // 3):
        with text.when(f"({a} & {k + 1}) > {k}"):
            text.set("t", f"{a} + z[i + {k}]")
        with text.otherwise():
            text.set("t", f"{a} * 3")
    text.set("y[i]", "t")


def uniform_diamonds(text: Text, size: int) -> None:
    """Ifs on what is the same in all lanes, of which indices come."""
    text.set("t", "i")
    for k in range(size // 3):
        with text.when(f"(m & {k + 1}) > {k}"):
            text.set("t", f"t + {k}")
        with text.otherwise():
            text.set("t", "t + n")
    text.set("y[i]", "z[t]")


def nested_ifs(text: Text, size: int) -> None:
    def inside(k: int) -> None:
        text.set("t", f"t + x[i + {k}]")
        if k < size // 3:
            with text.when(f"t > {k}"):
                inside(k + 1)
            with text.otherwise():
                text.set("t", f"t * {k + 3}")

    text.set("t", "i")
    inside(0)
    text.set("y[i]", "t")


def nested_loops(text: Text, size: int) -> None:
    def inside(k: int) -> None:
        with text.counting(f"j{k}", "m"):
            if k + 1 < size:
                inside(k + 1)
            else:
                text.set("t", "t + z[" + " + ".join(["i", *(f"j{q}" for q in range(size))]) + "]")

    text.set("t", "i")
    inside(0)
    text.set("y[i]", "t")


def small_loops(text: Text, size: int) -> None:
    """Loops one behind the other, of bounds that are not known."""
    text.set("t", "i")
    for k in range(size // 3):
        with text.counting(f"j{k % 4}", f"m + {k}"):
            text.set("t", f"t + z[j{k % 4} + {k}]")
    text.set("y[i]", "t")


def data_loops(text: Text, size: int) -> None:
    """Loops one behind the other, which lanes leave in rounds of their own."""
    text.set("t", "x[i]")
    for k in range(size // 4):
        with text.counting(f"j{k % 4}", f"x[i + {k}]"):
            text.set("t", "t + z[t & 1023]")
    text.set("y[i]", "t")


def known_loops(text: Text, size: int) -> None:
    """Loops of known rounds."""
    text.set("t", "i")
    for k in range(size // 3):
        with text.counting(f"j{k % 4}", str(2 + k % 4)):
            text.set("t", f"t * 3 + z[i + j{k % 4} * {k}]")
    text.set("y[i]", "t")


def straight(text: Text, size: int) -> None:
    """Loads, arithmetic and stores in one block."""
    for k in range(size // 4):
        text.set(f"a{k}", f"x[i + {k}] + z[i * 2 + {k}]")
        text.set(f"y[i + {k}]", f"a{k} * a{max(k - 1, 0)} + {k}")


def straight_floats(text: Text, size: int) -> None:
    """Arithmetic on floats in one block."""
    a = text.set("f0", "u[i]", "float")
    b = text.set("f1", "u[i + 1]", "float")
    for k in range(2, size):
        a, b = b, text.set(f"f{k}", f"{a} * {b} + u[i + {k % 16}]", "float")
    text.set("v[i]", b)


def stores(text: Text, size: int) -> None:
    """Stores to rows of known distance, and loads between them."""
    for k in range(size // 2):
        text.set(f"y[i * {size} + {k}]", f"y[i * {size} + {(k * 7) % size}] + {k}")


def scattered(text: Text, size: int) -> None:
    """Accesses at indices that are loaded."""
    text.set("t", "x[i]")
    for k in range(size // 2):
        text.set("t", f"z[t & 1023] + {k}")
        text.set("y[t & 1023]", "t")


def conditions(text: Text, size: int) -> None:
    """Conditions of many comparisons."""
    text.set("t", "i")
    word = "&&" if text.is_c else "and"
    for k in range(size // 8):
        with text.when(f" {word} ".join(f"x[i + {q}] > {k + q}" for q in range(8))):
            text.set("t", f"t + {k}")
    text.set("y[i]", "t")


def cases(text: Text, size: int) -> None:
    """A large switch, or a chain of comparisons with one number."""
    text.set("s", "x[i]")
    text.set("t", "i")
    if text.is_c:
        text.line("switch (s) {")
        for k in range(size // 2):
            text.line(f"case {k}: t = t * {k + 3} + z[i + {k}]; break;")
        text.line("}")
    else:
        word = "if"
        for k in range(size // 2):
            text.line(f"{word} s == {k}:")
            text.line(f"    t = t * {k + 3} + z[i + {k}]")
            word = "elif"
    text.set("y[i]", "t")


def exits(text: Text, size: int) -> None:
    """A loop that is left at many places."""
    text.set("t", "x[i]")
    with text.counting("j", "m"):
        for k in range(size // 2):
            with text.when(f"t == {k * 5 + 3}"):
                text.line("break" + ";" * text.is_c)
            text.set("t", f"t * 3 + z[j + {k}]")
    text.set("y[i]", "t")


def rounds(text: Text, size: int) -> None:
    """Rounds in shared memory, with barriers."""
    _shared(text)
    text.set("s[l]", "x[i]")
    text.barrier()
    for k in range(size // 4):
        text.set("t", f"s[(l + {k + 1}) & 63]")
        text.barrier()
        text.set("s[l]", f"t + {k}")
        text.barrier()
    text.set("y[i]", "s[l]")


def trees(text: Text, size: int) -> None:
    """Guarded rounds in shared memory, one behind the other."""
    _shared(text)
    text.set("s[l]", "x[i]")
    text.barrier()
    for k in range(size // 4):
        with text.when(f"l < {(32, 16, 8, 4)[k % 4]}"):
            text.set("s[l]", f"s[l] + s[l + {(32, 16, 8, 4)[k % 4]}]")
        text.barrier()
    text.set("y[i]", "s[l]")


def live_rounds(text: Text, size: int) -> None:
    """Barriers with many values that live across them."""
    _shared(text)
    for k in range(size // 4):
        text.set(f"a{k}", f"x[i + {k}]")
    for k in range(size // 4):
        text.set("s[l]", f"a{k}")
        text.barrier()
        text.set(f"a{k}", f"a{k} + s[63 - l]")
        text.barrier()
    text.set("y[i]", " + ".join(f"a{k}" for k in range(size // 4)))


def atomics(text: Text, size: int) -> None:
    for k in range(size):
        text.atomic_add(f"c[(w[i] + {k}) & 1023]", "1")


def _shared(text: Text) -> None:
    if text.is_c:
        text.shared.append("local long s[64];")
        text.set("l", "get_local_id(0)")
    else:
        text.line("s = cuda.shared.array(64, types.int64)")
        text.set("l", "cuda.threadIdx.x")


def own_arrays(text: Text, size: int) -> None:
    """Arrays of a thread's own, accessed at indices that are computed."""
    for k in range(size // 4):
        if text.is_c:
            text.line(f"long p{k}[8];")
        else:
            text.line(f"p{k} = cuda.local.array(8, types.int64)")
        with text.counting("j", "8"):
            text.set(f"p{k}[j]", f"x[i + j] + {k}")
    text.set("t", "0")
    for k in range(size // 4):
        text.set("t", f"t + p{k}[(t + x[i]) & 7]")
    text.set("y[i]", "t")


FAMILIES: dict[str, Family] = {
    "add": _chain(lambda _t, a, b, _k: f"{a} + {b}"),
    "multiply": _chain(lambda _t, a, b, _k: f"{a} * {b} + {a}"),
    "xor": _chain(lambda _t, a, b, k: f"({a} ^ {b}) + ({a} >> {k % 7})"),
    "least": _chain(lambda t, a, b, k: f"{t.least(a, b)} + {k}"),
    "choice": _chain(lambda t, a, b, k: t.choice(f"{a} > {k}", f"({a} + {b})", b)),
    "divide": _chain(lambda t, a, b, k: f"{t.quotient(a, str(k + 1))} + {b} % {k + 1}"),
    "indexed_squares": indexed_squares,
    "indexed_shifts": indexed_shifts,
    "indexed_floors": indexed_floors,
    "row_places": row_places,
    "diamonds": diamonds,
    "uniform_diamonds": uniform_diamonds,
    "nested_ifs": nested_ifs,
    "nested_loops": nested_loops,
    "small_loops": small_loops,
    "data_loops": data_loops,
    "known_loops": known_loops,
    "straight": straight,
    "straight_floats": straight_floats,
    "stores": stores,
    "scattered": scattered,
    "conditions": conditions,
    "cases": cases,
    "exits": exits,
}
KERNELS: dict[str, Family] = {
    "rounds": rounds,
    "trees": trees,
    "live_rounds": live_rounds,
    "atomics": atomics,
    "own_arrays": own_arrays,
}
"""Families that only kernels have."""

SMALL = {"nested_loops": 12, "nested_ifs": 4, "indexed_squares": 4, "row_places": 4}
"""By how much less a family grows than others: Python allows a hundred indentations, and clang 256 brackets."""
