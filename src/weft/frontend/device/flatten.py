"""From clang's LLVM IR for spir64 or nvptx64 to that of a CPU: one address space, but for the memory of a group.

Global, constant and generic memory are address space 0, as private memory is; local memory (OpenCL), which is shared
memory (CUDA), stays in space 3, where `weft.shared` has it. Calling conventions, scopes of atomics and the data layout
go; layouts of types agree with x86-64 (`test_layouts_of_types_agree` in tests/frontend/opencl/test_frontend.py). All
functions but kernels are internal and always inlined, but for those that call themselves, which LLVM leaves. Variables
that the host may set are no constants.

This is done on text: a name, a string or a piece of metadata is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.diag.errors import UnsupportedError
from weft.ir.intrinsics import KERNEL_ATTRIBUTE

_STRING = re.compile(r'("[^"]*")')
MAX_ALIGN = 16
"""The greatest alignment that code relies on: that of memory as allocators give it."""

_SPACES = re.compile(r" ?addrspace\([124]\)")
_CONVENTIONS = re.compile(r"\b(?:spir_kernel|spir_func|ptx_kernel|ptx_device) ")
_KERNEL = re.compile(r"\b(?:spir|ptx)_kernel ")
_SET_BY_HOST = re.compile(r"\bexternally_initialized (?:constant|global) ")
_SCOPE = re.compile(r'syncscope\("[^"]*"\) ')
_OPAQUE = re.compile(r'target\("spirv\.\w+"[^)]*\)')
_INTRINSIC = re.compile(r"(@llvm\.[\w.]+)")
_INTRINSIC_SPACE = re.compile(r"\.p[124](?=\.|$)")
_NAME = re.compile(r'@(?:[\w.$]+|"[^"]*")(?=\()')
_DEFINED = re.compile(r"^define [^@]*@([\w.$]+)\(")
_BODY_PREFIX = "__clang_ocl_kern_imp_"
_BODY = re.compile(rf"^define [^@\n]*@{_BODY_PREFIX}([\w.$]+)\(", re.M)
_DECLARED = re.compile(r"^declare .*?@([\w.$]+)\(")
_INLINED = re.compile(r"\balwaysinline\b")
_NEVER = re.compile(r"\b(?:noinline|optnone) ")
_LINKAGE = re.compile(
    r"\b(?:private|internal|available_externally|linkonce_odr|linkonce|weak_odr|weak|common|external|hidden"
    r"|protected|default|dso_local) "
)
_GLOBAL = re.compile(
    r'^(?P<name>@(?:"[^"]*"|\S+) = )(?P<words>(?:\w+ )*?)(?P<rest>(?:addrspace\(\d\) )?(?:constant|global) .*)$'
)
_ADDRESS = re.compile(r" (?:local_)?unnamed_addr\b")
_KEPT = ("unnamed_addr", "local_unnamed_addr")
_ALIGN = re.compile(r"\balign (\d+)")
_CAST = "addrspacecast"


def flatten(text: str) -> str:
    """Return the module for a machine with one address space.

    Raises
    ------
    UnsupportedError
        A kernel has no definition.
    """
    text = _SCOPE.sub("", _OPAQUE.sub("ptr", text))
    lines = _without_forwarding(text.split("\n"), text)
    return "\n".join(_without_repeats(_line(line) for line in lines))


def _without_forwarding(lines: list[str], text: str) -> Iterator[str]:
    """Kernels that are their own bodies.

    clang makes a function of each kernel's body, for others to call, and a kernel that calls it. Where nobody else
    does, the function becomes the kernel.
    """
    forwarding = {name for name in _BODY.findall(text) if text.count(f"@{_BODY_PREFIX}{name}(") == 2}
    skipping = False
    for line in lines:
        found = _DEFINED.match(line)
        if found is not None:
            name = found[1]
            skipping = "spir_kernel " in line and name in forwarding
            body = name.removeprefix(_BODY_PREFIX)
            if name.startswith(_BODY_PREFIX) and body in forwarding:
                line = _as_kernel(line, name, body)
        if not skipping:
            yield line
        elif line == "}":
            skipping = False


def _as_kernel(line: str, name: str, kernel: str) -> str:
    head, at, rest = line.partition(f"@{name}(")
    head = _LINKAGE.sub("", head).replace("spir_func ", "")
    return f"{head.replace('define ', 'define spir_kernel ', 1)}{at.replace(name, kernel)}{rest}"


def _line(line: str) -> str:
    if line.startswith(("target datalayout", "target triple", "@llvm.compiler.used", "@llvm.used")):
        return ""
    if line.startswith("!") and "addrspace" not in line:
        return line
    if line.startswith("define "):
        line = _definition(line)
    elif line.startswith("@"):
        # What the host may set stays, used or not.
        set_by_host = _SET_BY_HOST.sub("global ", line, count=1)
        line = _internal(line) if set_by_host == line else _LINKAGE.sub("", set_by_host, count=1)
    elif line.startswith("attributes "):
        return _NEVER.sub("", line)
    parts = _STRING.split(line)
    parts[::2] = [_plain(part) for part in parts[::2]]
    return "".join(parts)


def _definition(line: str) -> str:
    """A function's header: kernels are marked and visible, everything else is internal and inlined."""
    if _KERNEL.search(line):
        return _with_attribute(line, f'"{KERNEL_ATTRIBUTE}"')
    at = _name_end(line)
    head = _LINKAGE.sub("", line[:at]).replace("define ", "define internal ", 1)
    # Of an inlined function it would say of part of a kernel what holds for one work-item, and between barriers.
    rest = line[at:].replace("noalias ", "")
    return head + rest if _INLINED.search(rest) else _with_attribute(head + rest, "alwaysinline")


def _name_end(line: str) -> int:
    """Where the parameters of a function's header begin."""
    found = _NAME.search(line)
    if found is None:
        raise UnsupportedError(f"a function's header cannot be read: {line.strip()}")
    return found.end()


def _with_attribute(line: str, attribute: str) -> str:
    """A function's header with an attribute more: behind the parameters, and what is said of its address."""
    at = _name_end(line)
    depth = 0
    for k in range(at, len(line)):
        depth += (line[k] == "(") - (line[k] == ")")
        if not depth:
            found = _ADDRESS.match(line, k + 1)
            end = k + 1 if found is None else found.end()
            return f"{line[:end]} {attribute}{line[end:]}"
    raise UnsupportedError(f"a function's header cannot be read: {line.strip()}")


def _internal(line: str) -> str:
    """A global variable with a value is the program's own."""
    found = _GLOBAL.match(line)
    if found is None or not {"external", "extern_weak"}.isdisjoint(found["words"].split()):
        return line
    words = [word for word in found["words"].split() if word in _KEPT]
    return f"{found['name']}{' '.join(('internal', *words))} {found['rest']}"


def _plain(text: str) -> str:
    if "addrspace" in text:
        text = _casts(_SPACES.sub("", text)) if _CAST in text else _SPACES.sub("", text)
    if "spir_" in text or "ptx_" in text:
        text = _CONVENTIONS.sub("", text)
    if "align " in text and not text.startswith("@") and "alloca" not in text:
        text = _ALIGN.sub(lambda found: f"align {min(int(found[1]), MAX_ALIGN)}", text)
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
