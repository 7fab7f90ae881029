"""What a ``print`` in a kernel writes, from a format and 8-byte slots.

The format of ``print`` has a letter for each slot: ``i`` int64, ``u`` uint64, ``f`` float64, ``b`` bool, ``s`` address
of a C string; a capital one where no space is before it. That of C's ``printf`` begins with ``%``: behind it stands a
letter for each slot, of which the first is the address of C's own format; a vector has a slot for each element.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

ReadString = Callable[[int], str]
"""Reads a C string at an address."""

_CODES = {"i": "q", "u": "Q", "f": "d", "b": "q", "s": "Q"}
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+)?(?P<precision>\.\d*)?(?:v(?P<lanes>2|3|4|8|16))?"
    r"(?P<size>hh|hl|h|ll|l|j|z|t)?(?P<kind>[diouxXfFeEgGaAcsp%])"
)
_BITS = {"hh": 8, "h": 16, "hl": 32, **dict.fromkeys(("l", "ll", "j", "z", "t"), 64)}


def slots_of(letters: str) -> str:
    """The letters of a format that stand for slots."""
    return letters.removeprefix("%")


def format_line(letters: str, slots: bytes, read_string: ReadString) -> str:
    """What is written for the values in `slots`, the end of the line included."""
    codes = "".join(_CODES[c] for c in slots_of(letters).lower())
    values = struct.unpack(f"<{codes}", slots)
    if letters.startswith("%"):
        strings = [value if letter == "s" else 0 for letter, value in zip(letters[1:], values, strict=True)]
        return format_c(read_string(values[0]), iter(zip(values[1:], strings[1:], strict=True)), read_string)
    line = ""
    for number, (letter, value) in enumerate(zip(letters, values, strict=True)):
        if number and letter.islower():
            line += " "
        match letter.lower():
            case "s":
                line += read_string(value)
            case "b":
                line += str(bool(value))
            case _:
                line += str(value)
    return line + "\n"


def format_c(format: str, values: Iterator[tuple[int | float, int]], read_string: ReadString) -> str:
    """What C's ``printf`` writes, with the vectors of OpenCL C (§6.15.14); what lacks its value stays as it is.

    With each value comes the address of the string that it is, or 0.
    """

    def converted(found: re.Match[str]) -> str:
        if found["kind"] == "%":
            return "%"
        try:
            parts = [next(values) for _ in range(int(found["lanes"] or 1))]
        except StopIteration:
            return found[0]
        if found["kind"] == "s":
            text = read_string(parts[0][1]) if parts[0][1] else "(null)"
            return _padded(
                text if found["precision"] is None else text[: int(found["precision"][1:] or 0)], found
            )
        return ",".join(_value(found, value) for value, _ in parts)

    return _CONVERSION.sub(converted, format)


def _value(found: re.Match[str], value: int | float) -> str:
    kind, flags, precision = found["kind"], found["flags"], found["precision"]
    if kind == "c":
        return _padded(chr(int(value) & 0xFF), found)
    if kind == "p":
        return _padded(f"{int(value) & (1 << 64) - 1:#x}", found)
    if kind in "diouxX":
        bits = _BITS[found["size"]] if found["size"] else 32
        number = int(value) & (1 << bits) - 1
        if kind in "di" and number >> bits - 1:
            number -= 1 << bits
        return _integer(found, number)
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        text = f"{number:+}" if "+" in flags else f"{number: }" if " " in flags else f"{number}"
        return _padded(text.upper() if kind.isupper() else text, found, zeros=False)
    if kind in "aA":
        text = _hexadecimal(number, None if precision is None else int(precision[1:] or 0))
        text = text if text.startswith("-") else ("+" if "+" in flags else " " if " " in flags else "") + text
        return _padded(text.upper() if kind == "A" else text, found)
    return f"%{flags}{found['width'] or ''}{precision or ''}{kind}" % number


def _integer(found: re.Match[str], number: int) -> str:
    flags, precision, kind = found["flags"], found["precision"], found["kind"]
    if precision is not None:
        flags = flags.replace("0", "")
        if int(precision[1:] or 0) == 0 and number == 0:
            return _padded("", found, zeros=False)
    if "#" in flags and (kind == "o" or number == 0):
        # C's octal numbers begin with 0, and its 0 has no prefix.
        flags = flags.replace("#", "")
        text = f"%{precision or ''}{kind}" % number
        return _padded(text if text.startswith("0") else "0" + text, found)
    return f"%{flags}{found['width'] or ''}{precision or ''}{'d' if kind in 'diu' else kind}" % number


def _padded(text: str, found: re.Match[str], zeros: bool = True) -> str:
    width, flags = int(found["width"] or 0), found["flags"]
    if "-" in flags:
        return text.ljust(width)
    if zeros and "0" in flags and found["kind"] not in "scp":
        return text[:1] + text[1:].rjust(width - 1, "0") if text[:1] in "+-" else text.rjust(width, "0")
    return text.rjust(width)


def _hexadecimal(number: float, digits: int | None) -> str:
    """A hexadecimal float as C writes it: no more digits than needed, or as many as asked for."""
    # `hex` of what is finite has no other form.
    sign, mantissa, exponent = re.fullmatch(r"(-?)0x(\d\.[0-9a-f]+)p([+-]\d+)", number.hex()).groups()  # type: ignore[union-attr]
    if digits is None:
        mantissa = mantissa.rstrip("0").rstrip(".")
    else:
        scaled = int(mantissa.replace(".", ""), 16)
        have = len(mantissa) - 2
        if digits < have:
            unit = 1 << 4 * (have - digits)
            scaled, rest = divmod(scaled, unit)
            scaled += rest * 2 > unit or (rest * 2 == unit and scaled & 1)
        else:
            scaled <<= 4 * (digits - have)
        text = f"{scaled:0{digits + 1}x}"
        mantissa = text[:1] + ("." + text[1:] if digits else "")
    return f"{sign}0x{mantissa}p{exponent}"
