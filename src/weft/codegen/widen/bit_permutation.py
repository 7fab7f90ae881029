"""Transposing registers: the elements of several registers in another order, by swaps of halves.

Lanes of a box, and the elements of memory that they access, are numbered by coordinates along powers of two, so that
the way from one order to the other permutes the *bits* of a number: those of the place in a register, and those of
the register. To swap a bit of the one kind with one of the other takes one shuffle of two registers for each
register: of a transposition of 8 by 8 elements in 8 registers that is 24 in place of 56 that pick element by element.
Bits within a register change places by one shuffle of each register, and those of the register's number by none.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import Builder, Poison, Value


def bit_permutation(mapping: Sequence[int]) -> list[int] | None:
    """For each bit of a place the bit that it takes of ``mapping[place]``; None where that is no permutation of bits.

    ``mapping[place]`` is the number of the element that goes to a place; there is a power of two of them.
    """
    bits = (len(mapping) - 1).bit_length()
    if len(mapping) != 1 << bits or mapping[0] != 0:
        return None
    images = [mapping[1 << bit] for bit in range(bits)]
    if any(image <= 0 or image & (image - 1) for image in images) or len(set(images)) != bits:
        return None
    for place, found in enumerate(mapping):
        if found != sum(image for bit, image in enumerate(images) if place >> bit & 1):
            return None
    return [image.bit_length() - 1 for image in images]


def count_shuffles(sources: Sequence[int], slot_bits: int) -> int:
    """How many shuffles `permute_registers` builds for each register."""
    inside = [s for s in sources[:slot_bits] if s < slot_bits]
    swaps = slot_bits - len(inside)
    stays = all(s == bit for bit, s in enumerate(sources[:slot_bits]) if s < slot_bits)
    return swaps + (not stays)


def permute_registers(
    builder: Builder, registers: Sequence[Value], sources: Sequence[int], slots: int
) -> list[Value]:
    """Put elements in another order.

    Parameters
    ----------
    registers
        A power of two of vectors of `slots` elements, numbered through.
    sources
        For each bit of a place in the result the bit of the element's number there, as `bit_permutation` finds them.

    Returns
    -------
    As many vectors.
    """
    slot_bits = (slots - 1).bit_length()
    # What each bit of a place is now; the first `slot_bits` are those within a register.
    now = list(range(len(sources)))
    current = list(registers)
    for slot in range(slot_bits):
        wanted = sources[slot]
        if now.index(wanted) >= slot_bits:
            # A bit that is wanted within registers stays there.
            leaving = next(b for b in _leaving(now, sources, slot_bits, slot))
            current = _swap(builder, current, leaving, now.index(wanted) - slot_bits, slots)
            at = now.index(wanted)
            now[leaving], now[at] = now[at], now[leaving]
    order = [now.index(sources[bit]) for bit in range(slot_bits)]
    if order != list(range(slot_bits)):
        picked = [sum((place >> bit & 1) << order[bit] for bit in range(slot_bits)) for place in range(slots)]
        current = [builder.shuffle(r, Poison(r.type), picked) for r in current]
    result: list[Value] = []
    for number in range(len(current)):
        place = 0
        for bit in range(slot_bits, len(sources)):
            if number >> (bit - slot_bits) & 1:
                place |= 1 << (now.index(sources[bit]) - slot_bits)
        result.append(current[place])
    return result


def _leaving(now: Sequence[int], sources: Sequence[int], slot_bits: int, slot: int) -> list[int]:
    """Bits of a place within registers that may go: best that at `slot`, if nothing within registers wants it."""
    wanted = set(sources[:slot_bits])
    free = [b for b in range(slot_bits) if now[b] not in wanted]
    return sorted(free, key=lambda b: b != slot)


def _swap(builder: Builder, registers: list[Value], slot: int, number: int, slots: int) -> list[Value]:
    """Swap a bit of the place within registers with a bit of their number."""
    result = list(registers)
    step = 1 << slot
    low = [s if not s & step else slots + (s ^ step) for s in range(slots)]
    high = [s ^ step if not s & step else slots + s for s in range(slots)]
    for k in range(len(registers)):
        if k >> number & 1:
            continue
        a, b = registers[k], registers[k | 1 << number]
        result[k] = builder.shuffle(a, b, low)
        result[k | 1 << number] = builder.shuffle(a, b, high)
    return result
