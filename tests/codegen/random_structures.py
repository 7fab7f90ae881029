"""Random kernels that access fields of structures: several sizes, packed or not, masked or not, in any order.

``in[i]`` is read at the thread's index, backwards, or at an index that is itself read; ``out[tid]`` is read and
written, so that stores and loads of the same fields follow each other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from codegen.kernels import WORDS, Launch, guarded, kernel_text

BITS = (8, 16, 32, 64)
MOST_THREADS = 64


@dataclass(slots=True)
class _Body:
    """Instructions so far, and the values loaded, with their widths."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    loaded: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> str:
        """Append an instruction with a result; its name."""
        self.count += 1
        self.lines.append(f"  %x{self.count} = {text}")
        return f"%x{self.count}"

    def value(self, bits: int) -> str:
        """A value of so many bits that depends on something loaded, if anything is."""
        have, value = self.rng.choice(self.loaded) if self.loaded else (64, "%tid")
        if have != bits:
            op = "trunc" if have > bits else self.rng.choice(("zext", "sext"))
            value = self.add(f"{op} i{have} {value} to i{bits}")
        return self.add(f"{self.rng.choice(('add', 'xor', 'mul'))} i{bits} {value}, {self.rng.randint(1, 9)}")


@dataclass(frozen=True, slots=True)
class StructureProgram:
    """A kernel as text, and launches in which all its structures lie within the arrays."""

    text: str
    launches: tuple[Launch, ...]


def random_structure_program(seed: int) -> StructureProgram:
    """The program of a seed."""
    rng = random.Random(seed)
    fields = [rng.choice(BITS) for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.5:
        fields = [rng.choice(BITS[1:])] * len(fields)
    packed = rng.random() < 0.3
    members = ", ".join(f"i{bits}" for bits in fields)
    type = f"<{{ {members} }}>" if packed else f"{{ {members} }}"
    align = ", align 1" if packed else ""
    # Padding makes a structure at most as large as if all its fields were its largest.
    threads = min(MOST_THREADS, 4 * WORDS // (len(fields) * max(fields) // 8))
    body = _Body(rng, [
        f"  %back = sub i64 {threads - 1}, %tid", "  %pi = getelementptr i8, ptr %in, i64 %tid",
        "  %b8 = load i8, ptr %pi", "  %b = zext i8 %b8 to i64", f"  %own = urem i64 %b, {threads}",
    ])  # fmt: skip

    def address(array: str, index: str, number: int) -> str:
        return body.add(f"getelementptr {type}, ptr %{array}, i64 {index}, i32 {number}")

    def store(number: int) -> None:
        value = body.value(fields[number])
        body.lines.append(f"  store i{fields[number]} {value}, ptr {address('out', '%tid', number)}{align}")

    for _ in range(rng.randint(3, 14)):
        number = rng.randrange(len(fields))
        array = rng.choice(("in", "out"))
        if array == "out" and rng.random() < 0.55:
            store(number)
            continue
        index = "%tid" if array == "out" else rng.choice(("%tid", "%tid", "%back", "%own"))
        place = address(array, index, number)
        body.loaded.append((fields[number], body.add(f"load i{fields[number]}, ptr {place}{align}")))
    store(rng.randrange(len(fields)))
    text = "\n".join(body.lines)
    return StructureProgram(
        kernel_text(guarded(text) if rng.random() < 0.5 else text),
        (Launch(threads, 37), Launch(max(1, threads - 5), 64)),
    )
