"""From clang's LLVM IR for spir64 to that of a CPU: one address space, but for local memory.

Global, constant and generic memory are address space 0, as private memory is; local memory stays in space 3, where
`weft.shared` has it. Calling conventions, scopes of atomics and the data layout of spir64 go; layouts of types agree
with x86-64 (tests/frontend/opencl/test_layout.py). All functions but kernels are internal and always inlined: OpenCL C
has no recursion.

This is done on text: a name, a string or a piece of metadata is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.diag.errors import UnsupportedError

_STRING = re.compile(r'("[^"]*")')
_SPACES = re.compile(r" ?addrspace\([124]\)")
_CONVENTIONS = re.compile(r"\bspir_(?:kernel|func) ")
_SCOPE = re.compile(r'syncscope\("[^"]*"\) ')
_OPAQUE = re.compile(r'target\("spirv\.\w+"[^)]*\)')
_INTRINSIC = re.compile(r"(@llvm\.[\w.]+)")
_INTRINSIC_SPACE = re.compile(r"\.p[124](?=\.|$)")
_DECLARED = re.compile(r"^declare .*?@([\w.$]+)\(")
_NEVER = re.compile(r"\b(?:noinline|optnone) ")
_LINKAGE = re.compile(
    r"\b(?:private|internal|available_externally|linkonce_odr|linkonce|weak_odr|weak|common|external|hidden"
    r"|protected|default|dso_local) "
)
_GLOBAL = re.compile(
    r'^(?P<name>@(?:"[^"]*"|\S+) = )(?P<words>(?:\w+ )*?)(?P<rest>(?:addrspace\(\d\) )?(?:constant|global) .*)$'
)
_KEPT = ("unnamed_addr", "local_unnamed_addr")
_CAST = "addrspacecast"


def flatten(text: str) -> str:
    """Return the module for a machine with one address space.

    Raises
    ------
    UnsupportedError
        A kernel has no definition.
    """
    text = _SCOPE.sub("", _OPAQUE.sub("ptr", text))
    return "\n".join(_without_repeats(_line(line) for line in text.split("\n")))


def _line(line: str) -> str:
    if line.startswith(("target datalayout", "target triple")):
        return ""
    if line.startswith("!") and "addrspace" not in line:
        return line
    if line.startswith("define "):
        line = _definition(line)
    elif line.startswith("@"):
        line = _internal(line)
    elif line.startswith("attributes "):
        return _NEVER.sub("", line)
    parts = _STRING.split(line)
    parts[::2] = [_plain(part) for part in parts[::2]]
    return "".join(parts)


def _definition(line: str) -> str:
    """A function's header: kernels are visible, everything else is internal and inlined."""
    if "spir_kernel " in line:
        return line
    head, parenthesis, rest = line.partition("(")
    head = _LINKAGE.sub("", head).replace("define ", "define internal ", 1)
    body = rest.rindex("{")
    attributes = re.search(r" (#\d+|!\w+ !\d+|\{)", rest)
    at = attributes.start() if attributes is not None else body
    return f"{head}{parenthesis}{rest[:at]} alwaysinline{rest[at:]}"


def _internal(line: str) -> str:
    """A global variable with a value is the program's own."""
    found = _GLOBAL.match(line)
    if found is None or "external" in found["words"].split():
        return line
    words = [word for word in found["words"].split() if word in _KEPT]
    return f"{found['name']}{' '.join(('internal', *words))} {found['rest']}"


def _plain(text: str) -> str:
    if "addrspace" in text:
        text = _casts(_SPACES.sub("", text)) if _CAST in text else _SPACES.sub("", text)
    if "spir_" in text:
        text = _CONVENTIONS.sub("", text)
    if "@llvm." in text:
        text = _INTRINSIC.sub(lambda found: _INTRINSIC_SPACE.sub(".p0", found[1]), text)
    return text


def _casts(text: str) -> str:
    """Casts between what is one address space now are none."""
    position = text.find(_CAST)
    while position >= 0:
        source, target = _types_of_cast(text, position + len(_CAST))
        if source == target:
            text = f"{text[:position]}bitcast{text[position + len(_CAST) :]}"
        position = text.find(_CAST, position + 1)
    return text


def _types_of_cast(text: str, at: int) -> tuple[str, str]:
    """The types that a cast leads from and to; `at` is where its operand, or the parenthesis before it, begins."""
    start = at + 1 + (text[at + 1 : at + 2] == "(") if text[at] == " " else at + 1
    depth = 0
    for k in range(start, len(text)):
        if text[k] in "([{<":
            depth += 1
        elif text[k] in ")]}>":
            depth -= 1
        elif depth == 0 and text.startswith(" to ", k):
            return _type_at(text, start), _type_at(text, k + 4)
    raise UnsupportedError(f"a cast of address spaces cannot be read: {text.strip()}")


_TYPE = re.compile(r"(?:<\d+ x )?ptr(?: addrspace\(\d+\))?>?")


def _type_at(text: str, at: int) -> str:
    found = _TYPE.match(text, at)
    return found[0] if found is not None else ""


def _without_repeats(lines: Iterator[str]) -> Iterator[str]:
    """Each declaration once: intrinsics of several address spaces are one."""
    seen: set[str] = set()
    for line in lines:
        found = _DECLARED.match(line)
        if found is not None:
            if found[1] in seen:
                continue
            seen.add(found[1])
        yield line
