"""Statements of random kernels in which the threads of a warp work together, as text of Python.

All of a warp come to them; they update `s`, a number of 64 bits, and `e`, one of the kernel's own kind. Those under a
condition have the mask of the threads for which it holds.
"""

from __future__ import annotations

from generators.python_text import PythonText

ALL = "0xFFFFFFFF"


def warp_operation(t: PythonText, kind: str) -> None:
    """One statement, or a few that belong together."""
    if t.maybe(0.25):
        _vote(t, ALL)
    elif t.maybe(0.4):
        _shuffle(t, kind, ALL)
    else:
        t.one(_butterfly, _chosen, _chosen, _one_for_all, _while_any, _alike)(t, kind)


def _vote(t: PythonText, mask: str) -> None:
    what = t.one("any_sync", "all_sync", "eq_sync", "ballot_sync", "ballot_sync")
    t.put(f"s = s * 3 + int(cuda.{what}({mask}, {t.condition(1)}))")


def _shuffle(t: PythonText, kind: str, mask: str) -> None:
    of = t.one("whole", "int32", kind)
    if of in ("float16", "uint8", "int16"):
        of = "int32"
    value = f"np.int64({t.value('whole')})" if of == "whole" else t.value(of)
    k = t.one(1, 2, 5, 16, 31)
    lane = t.one(0, 3, "m & 31", "(t + 1) & 31", "t & 31 ^ 5", "y[i] & 31", "31 - t % 32")
    call = t.one(
        f"shfl_sync({mask}, {value}, {lane})",
        f"shfl_up_sync({mask}, {value}, {t.one(k, 'm & 7', 'b')})",
        f"shfl_down_sync({mask}, {value}, {t.one(k, 'm & 7', 'b')})",
        f"shfl_xor_sync({mask}, {value}, {t.one(k, 'm & 31')})",
    )
    t.put(f"s = s * 5 + int(cuda.{call})" if of != kind or t.maybe(0.5) else f"e = e + cuda.{call}")


def _butterfly(t: PythonText, kind: str) -> None:
    d, how = t.name("d"), t.one("xor", "down")
    if t.maybe(0.5):
        shuffled = f"cuda.shfl_{how}_sync({ALL}, s, {d})"
        t.put(f"{d} = 16", f"while {d} > 0:", f"    s += {shuffled}", f"    {d} //= 2")
    else:
        shuffled = f"cuda.shfl_{how}_sync({ALL}, s, {d})"
        t.put(f"for {d} in (16, 8, 4, 2, 1):", f"    s = {t.one('max', 'min')}(s, {shuffled})")


def _chosen(t: PythonText, kind: str) -> None:
    """What those do together for which a condition holds."""
    c, mask = t.name("c"), t.name("mask")
    t.put(f"{c} = {t.condition(1)}", f"{mask} = cuda.ballot_sync({ALL}, {c})")
    with t.inside(f"if {c}:"):
        t.names["whole"].append(f"cuda.popc({mask} & cuda.lanemask_lt())")
        for _ in range(t.one(1, 2)):
            if t.maybe(0.4):
                _vote(t, mask)
            else:
                first = f"cuda.ffs({mask}) - 1"
                t.put(f"s = s * 3 + cuda.shfl_sync({mask}, s + {t.value('whole')}, {first})")
        if t.maybe(0.5):
            t.put(f"s += {t.value('whole')}")
    if t.maybe(0.3):
        with t.inside("else:"):
            t.put(f"s -= {t.value('whole')}")


def _one_for_all(t: PythonText, kind: str) -> None:
    """The first of some asks for all of them, as those do who append to an array."""
    c, mask, base = t.name("c"), t.name("mask"), t.name("base")
    t.put(f"{c} = {t.condition(1)}", f"{mask} = cuda.ballot_sync({ALL}, {c})", f"{base} = 0")
    t.put(f"if {c} and cuda.popc({mask} & cuda.lanemask_lt()) == 0:")
    t.put(
        f"    {base} = cuda.atomic.add(counts, {t.one('t & 0', '1')}, 0 * cuda.popc({mask})) * 0 + cuda.popc({mask})"
    )
    t.put(f"s = s * 3 + cuda.shfl_sync({ALL}, {base}, {t.one(f'max(cuda.ffs({mask}) - 1, 0)', '0')})")


def _while_any(t: PythonText, kind: str) -> None:
    """A loop that a warp leaves when nobody has anything left."""
    left = t.name("left")
    t.put(f"{left} = {t.one('y[i] & 7', 't % 5', 's & 3', 'm % 4')}")
    with t.inside(f"while cuda.any_sync({ALL}, {left} > 0):"):
        with t.inside(f"if {left} > 0:"):
            t.put(f"s = s * 3 + {t.value('whole')}")
        t.put(f"{left} -= 1")
        if t.maybe(0.5):
            t.put(f"s += cuda.ballot_sync({ALL}, {left} == 1)")


def _alike(t: PythonText, kind: str) -> None:
    """Those with one number find each other."""
    t.put(f"s = s * 3 + int(cuda.match_any_sync({ALL}, {t.one('t % 3', 'y[i] & 1', 's & 3', 'i // 5')}))")
