"""Random kernels that divide and mask thread numbers by uniform numbers, beside the interpreter.

    PYTHONPATH=tests python -m codegen.stretches FIRST END

runs the kernels of some seeds, and ends with how many have a version for whole stretches.
"""

from __future__ import annotations

import random
import sys

from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS

_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_BITS = ("and", "lshr", "ashr")
_NUMBERS = ("add i32 %t32, 0", "add i32 %t32, 64", "add i32 %t32, -16", "shl i32 %t32, 1", "add i32 %t32, %u")
_SUMS = ("add", "sub", "xor", "or", "mul")


def stretches(seed: int) -> str:
    """The kernel of a seed."""
    rng = random.Random(f"stretches {seed}")
    lines = [
        "%even = or i32 %u, 1",
        "%less = sub i32 %u, 1",
        "%few = and i32 %u, 7",
        f"%many = mul i32 %even, {rng.choice((8, 16, 32))}",
        f"%x0 = {rng.choice(_NUMBERS)}",
    ]
    values = ["%t32", "%x0"]
    for k in range(rng.randint(1, 4)):
        operand = rng.choice(values)
        kind = rng.random()
        if kind < 0.45:
            text = f"{rng.choice(_DIVISIONS)} i32 {operand}, {rng.choice(('%even', '%many', '%many', '37', '96'))}"
        elif kind < 0.75:
            op = rng.choice(_BITS)
            other = rng.choice(("%u", "%less", "%many", "63", "111") if op == "and" else ("%few", "5"))
            text = f"{op} i32 {operand}, {other}"
        else:
            text = f"{rng.choice(_SUMS)} i32 {operand}, {rng.choice((*values, '3', '%u'))}"
        lines.append(f"%r{k} = {text}")
        values.append(f"%r{k}")
    loads = []
    for k in range(rng.randint(1, 3)):
        loads += [
            f"%index{k} = and i32 {rng.choice(values[2:])}, 127",
            f"%g{k} = getelementptr i32, ptr %in, i32 %index{k}",
            f"%w{k} = load i32, ptr %g{k}",
            f"%s{k} = add i32 %w{k}, {f'%s{k - 1}' if k else '0'}",
        ]
    last = loads[-1].split(" ")[0]
    body = "\n".join(f"  {line}" for line in loads) + "\n" + stored(last)
    head = "\n".join(f"  {line}" for line in lines) + "\n"
    if rng.random() < 0.4:
        return kernel_text(head + guarded(body)) if rng.random() < 0.5 else kernel_text(guarded(head + body))
    return kernel_text(head + body)


def check(seed: int) -> bool:
    """Compare machine code with the interpreter; whether there is a version."""
    text, rng = stretches(seed), random.Random(seed)
    width, isa = rng.choice((2, 4, 8, 8, 16, 16, 32)), rng.choice(ISAS)
    numbers = (0, 1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65, (1 << 32) - 1, (1 << 32) - 32, 1 << 31)
    launches = [Launch(u=u) for u in rng.sample(numbers, 6)]
    agree(text, width, isa, [*launches, Launch(45, u=rng.choice(numbers))])
    return "\naligned:" in widened(text, width, isa)


def main() -> int:
    """Run a range of seeds."""
    wrong = versions = 0
    first, end = map(int, sys.argv[1:3])
    for seed in range(first, end):
        try:
            versions += check(seed)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}"[:600], flush=True)
    print(f"{end - first} kernels, {versions} with a version, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
