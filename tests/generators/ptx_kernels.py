"""Random kernels in PTX: predication, loops, branches, shared memory with barriers, votes and shuffles.

Every kernel is ``k(out, x)``: thread i reads ``x[i]`` and four words from ``x[4*i]`` on, and writes words
``out[ROW*i]`` to ``out[ROW*i + ROW - 1]``. No thread reads what another writes but through shared memory behind a
barrier, and no result depends on an order of threads.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

ROW = 8
"""Words that each thread writes."""

_INTEGER = (
    "add.s32",
    "sub.s32",
    "mul.lo.s32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "min.s32",
    "max.u32",
    "min.u32",
)
_COMPARE = ("lt.s32", "gt.s32", "eq.u32", "ne.u32", "ls.u32", "hs.u32")
_FLOAT = ("add.rn.f32", "sub.rn.f32", "mul.rn.f32", "min.f32", "max.f32")


@dataclass(slots=True)
class _Writer:
    draw: random.Random
    threads: int
    registers: int
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    depth: int = 0
    divergent: int = 0
    independent: bool = False

    def r(self) -> str:
        """A word that may be written."""
        return f"%r{self.draw.randrange(self.registers)}"

    def f(self) -> str:
        return f"%f{self.draw.randrange(4)}"

    def source(self) -> str:
        """A word, or a constant."""
        return (
            self.r()
            if self.draw.random() < 0.75
            else str(self.draw.choice((0, 1, 2, 3, 7, 31, -1, -5, 255, 65536)))
        )

    def say(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def label(self) -> str:
        self.labels += 1
        return f"$L{self.labels}"


def random_kernel(
    draw: random.Random, threads: int = 64, size: int = 24, *, independent: bool = False
) -> str:
    """The text of a kernel for blocks of `threads` threads.

    Parameters
    ----------
    draw
        Where choices come from.
    threads
        Of a block: a multiple of 32.
    size
        About how many statements it has.
    independent
        Whether threads of a warp may be anywhere, so that votes and shuffles stand only where all come by.
    """
    w = _Writer(draw, threads, registers=draw.randint(4, 14), independent=independent)
    for k in range(w.registers):
        w.say(
            f"add.u32 %r{k}, %word{k % 4}, {draw.choice((0, 1, 5, 1000))};"
            if k % 3
            else f"mov.u32 %r{k}, %i;"
        )
    for k in range(4):
        w.say(f"cvt.rn.f32.s32 %f{k}, %word{k};")
    _statements(w, size)
    for k in range(ROW):
        w.say(f"st.global.u32 [%out+{4 * k}], %r{k % w.registers};")
    body = "\n".join(w.lines)
    return f""".version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 room[{4 * threads}];
.visible .entry k(.param .u64 out, .param .u64 x)
{{
    .reg .pred %p<4>;
    .reg .b32 %i, %t<4>, %n<8>, %place, %word<4>, %r<{w.registers}>;
    .reg .b64 %a<4>, %out, %wide;
    .reg .f32 %f<4>;
    mov.u32 %t0, %ctaid.x;
    mov.u32 %t1, %ntid.x;
    mov.u32 %t2, %tid.x;
    mad.lo.s32 %i, %t0, %t1, %t2;
    ld.param.u64 %a0, [out];
    ld.param.u64 %a1, [x];
    mul.wide.s32 %a2, %i, {4 * ROW};
    add.s64 %out, %a0, %a2;
    mul.wide.s32 %a2, %i, 16;
    add.s64 %a1, %a1, %a2;
    ld.global.v4.u32 {{%word0, %word1, %word2, %word3}}, [%a1];
    mov.u32 %place, room;
    shl.b32 %t3, %t2, 2;
    add.s32 %place, %place, %t3;
{body}
    ret;
}}
"""


def _statements(w: _Writer, count: int) -> None:
    while count > 0:
        kind = w.draw.random()
        if kind < 0.5 or w.depth > 3:
            _compute(w)
            count -= 1
        elif kind < 0.62:
            count -= _branch(w, count)
        elif kind < 0.72:
            count -= _loop(w, count)
        elif kind < 0.8:
            _predicated(w)
            count -= 2
        elif kind < 0.88 and not (w.independent and w.divergent):
            _together(w)
            count -= 2
        elif not w.divergent:
            _exchange(w)
            count -= 3
        else:
            _compute(w)
            count -= 1


def _compute(w: _Writer) -> None:
    kind = w.draw.random()
    if kind < 0.5:
        w.say(f"{w.draw.choice(_INTEGER)} {w.r()}, {w.r()}, {w.source()};")
    elif kind < 0.6:
        w.say(f"mad.lo.s32 {w.r()}, {w.r()}, {w.source()}, {w.r()};")
    elif kind < 0.7:
        w.say(f"{w.draw.choice(('shl.b32', 'shr.u32', 'shr.s32'))} {w.r()}, {w.r()}, {w.draw.randrange(40)};")
    elif kind < 0.78:
        w.say(f"{w.draw.choice(_FLOAT)} {w.f()}, {w.f()}, {w.f()};")
    elif kind < 0.84:
        w.say(f"cvt.rzi.s32.f32 {w.r()}, {w.f()};")
    elif kind < 0.9:
        w.say(f"mul.wide.s32 %wide, {w.r()}, {w.r()};")
        w.say(
            f"cvt.u32.u64 {w.r()}, %wide;" if w.draw.random() < 0.5 else f"mov.b64 {{%t3, {w.r()}}}, %wide;"
        )
    else:
        w.say(f"setp.{w.draw.choice(_COMPARE)} %p0, {w.r()}, {w.source()};")
        w.say(f"selp.b32 {w.r()}, {w.r()}, {w.source()}, %p0;")


def _predicated(w: _Writer) -> None:
    w.say(f"setp.{w.draw.choice(_COMPARE)} %p1|%p2, {w.r()}, {w.source()};")
    for _ in range(w.draw.randint(1, 3)):
        sign = w.draw.choice(("@%p1", "@!%p1", "@%p2"))
        if w.draw.random() < 0.3:
            w.say(f"{sign} st.global.u32 [%out+{4 * w.draw.randrange(ROW)}], {w.r()};")
        else:
            w.say(f"{sign} {w.draw.choice(_INTEGER)} {w.r()}, {w.r()}, {w.source()};")


def _branch(w: _Writer, room: int) -> int:
    otherwise, end = w.label(), w.label()
    uniform = w.draw.random() < 0.3
    tested = w.draw.choice(("%t0", "%t1")) if uniform else w.r()
    w.say(
        f"setp.{w.draw.choice(_COMPARE)} %p0, {tested}, {w.source() if not uniform else w.draw.randrange(3)};"
    )
    w.say(f"@%p0 bra {otherwise};")
    w.depth += 1
    w.divergent += not uniform
    size = w.draw.randint(1, max(1, room // 2))
    _statements(w, size)
    if w.draw.random() < 0.6:
        w.say(f"bra {end};")
        w.lines.append(f"{otherwise}:")
        _statements(w, size)
        w.lines.append(f"{end}:")
    else:
        w.lines.append(f"{otherwise}:")
    w.depth -= 1
    w.divergent -= not uniform
    return 2 * size + 1


def _loop(w: _Writer, room: int) -> int:
    head, end = w.label(), w.label()
    uniform = w.draw.random() < 0.4
    counter = f"%n{w.depth}"
    if uniform:
        w.say(f"mov.u32 {counter}, {w.draw.randint(1, 4)};")
    else:
        w.say(f"and.b32 {counter}, {w.r()}, 3;")
        w.say(f"add.u32 {counter}, {counter}, 1;")
    w.lines.append(f"{head}:")
    w.depth += 1
    w.divergent += not uniform
    size = w.draw.randint(1, max(1, room // 2))
    _statements(w, size)
    leaves = not uniform and w.draw.random() < 0.4
    if leaves:
        w.say(f"setp.{w.draw.choice(_COMPARE)} %p3, {w.r()}, {w.source()};")
        w.say(f"@%p3 bra {end};")
    w.say(f"sub.u32 {counter}, {counter}, 1;")
    w.say(f"setp.ne.u32 %p3, {counter}, 0;")
    w.say(f"@%p3 bra {head};")
    w.lines.append(f"{end}:")
    w.depth -= 1
    w.divergent -= not uniform
    return size + 1


def _together(w: _Writer) -> None:
    """A vote or a shuffle among the threads that are there."""
    kind = w.draw.random()
    if kind < 0.4:
        mode = w.draw.choice(("bfly", "idx", "down"))
        w.say(f"shfl.sync.{mode}.b32 {w.r()}|%p0, {w.r()}, {w.draw.randrange(32)}, 31, 0xffffffff;")
        return
    w.say(f"setp.{w.draw.choice(_COMPARE)} %p0, {w.r()}, {w.source()};")
    if kind < 0.7:
        w.say(f"vote.sync.ballot.b32 {w.r()}, %p0, 0xffffffff;")
    else:
        w.say(f"vote.sync.{w.draw.choice(('any', 'all'))}.pred %p1, %p0, 0xffffffff;")
        w.say(f"selp.u32 {w.r()}, 1, 0, %p1;")


def _exchange(w: _Writer) -> None:
    """A word from another thread of the block, through shared memory."""
    w.say("bar.sync 0;")
    w.say(f"st.shared.u32 [%place], {w.r()};")
    w.say("bar.sync 0;")
    w.say(f"xor.b32 %t3, %t2, {w.draw.randrange(w.threads)};")
    w.say("shl.b32 %t3, %t3, 2;")
    w.say(f"ld.shared.u32 {w.r()}, [room+{4 * w.draw.randrange(w.threads)}];" if w.draw.random() < 0.3 else
          f"mov.u32 %n7, room; add.s32 %t3, %n7, %t3; ld.shared.u32 {w.r()}, [%t3];")  # fmt: skip
