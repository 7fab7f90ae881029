"""The C of a library: functions that take arguments as C has them, and lead to the code of the level that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aot.interface import FUNCTION, KERNEL, PLAIN, UFUNC, Export

_PUBLIC = '__attribute__((visibility("default")))'
_GROUPS = "(void *, int64_t, int64_t, int32_t)"
_LAUNCH = "const int64_t grid[3], const int64_t block[3], int64_t dynamic_bytes"


def prototype(export: Export) -> str:
    """The declaration of an export, without a semicolon."""
    if export.kind == PLAIN:
        return export.declaration.rstrip(";")
    parameters = [f"{s.ctype}{'' if s.ctype.endswith('*') else ' '}{s.name}" for s in export.slots]
    if export.kind == KERNEL:
        return f"int {export.name}({', '.join([_LAUNCH, *parameters])})"
    if export.kind == UFUNC:
        data = [p for p, s in zip(parameters, export.slots, strict=True) if s.role == "data"]
        return f"void {export.name}({', '.join(['int64_t weft_count', *data])})"
    if not export.returned:
        slots = [slot for result in export.results for slot in result.slots]
        parameters += [f"{s.ctype}{'' if s.ctype.endswith('*') else ' '}*{s.name}" for s in slots]
    kind = export.returned or ("int" if export.fails else "void")
    return f"{kind} {export.name}({', '.join(parameters) or 'void'})"


def failure(export: Export) -> str:
    """The declaration of what tells the errors of a function."""
    return f"const char *{export.name}_error(int status)"


def printer(stem: str) -> str:
    """The declaration of what chooses where a library prints."""
    return f"void {stem}_print_to(void (*write)(const char *text))"


def public_names(exports: Sequence[Export], stem: str) -> list[str]:
    """The symbols that a library has."""
    names = [e.name for e in exports] + [f"weft_ufunc_{e.name}" for e in exports if e.strided]
    names += [f"{e.name}_error" for e in exports if e.fails]
    return [*names, f"{stem}_print_to"] if any(e.prints for e in exports) else names


def header(exports: Sequence[Export], stem: str, source: str) -> str:
    """The header for C and C++."""
    guard = f"WEFT_{stem.upper()}_H"
    lines = [
        f"/* Made by weft build of {source}. */",
        "",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    if any(e.kind == KERNEL for e in exports):
        lines += [
            "/* Kernels return 0, 1 where threads of a work-group wait at different barriers, 2 where there is no",
            "   memory, 3 where grid or block is none. Extents of arrays are elements, strides bytes. */",
        ]
    if any(e.fails for e in exports):
        lines += [
            "/* Functions that make arrays or raise errors return 0, or the number of an error, which NAME_error()",
            "   says in words. An array that one returns is in C order, and for free(). */",
        ]
    for export in exports:
        lines.append(f"{prototype(export)};")
        if export.fails:
            lines.append(f"{failure(export)};")
    if any(e.prints for e in exports):
        lines += [
            "/* Has print() call a function with whole lines; null is the standard output stream again. */"
        ]
        lines.append(f"{printer(stem)};")
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def glue(
    levels: Sequence[tuple[int, Sequence[Export]]],
    scope: bytes = b"",
    pointers: Sequence[tuple[int, int]] = (),
    stem: str = "",
) -> str:
    """The C source that leads from the functions of the header to code.

    Parameters
    ----------
    levels
        Each level, as in x86-64-v3, with its exports; in ascending order.
    scope, pointers
        Variables of an OpenCL program, and where they hold addresses of each other.
    stem
        What the library is called.
    """
    numbers = [level for level, _ in levels]
    parts = [
        '#include "aot.h"',
        "#include <stdlib.h>",
        "#include <string.h>",
        "",
        "static int weft_chosen;",
        "",
    ]
    starts: list[str] = []
    if any(export.is_opencl for export in levels[0][1]):
        held = ", ".join(map(str, scope)) or "0"
        parts.append(f"static _Alignas(128) unsigned char weft_scope[] = {{{held}}};")
        for place, to in pointers:
            starts.append(f"    *(unsigned char **)(weft_scope + {place}) = weft_scope + {to};")
    for number, export in enumerate(levels[0][1]):
        of_levels = [(level, exports[number]) for level, exports in levels]
        parts += _MAKERS[export.kind](export, of_levels)
        if export.kind == PLAIN:
            starts.append(f"    weft_at_{export.name} = {export.name}_levels[weft_chosen];")
    if any(export.prints for export in levels[0][1]):
        parts.append(f"{_PUBLIC} {printer(stem)} {{ print_to(write); }}")
    parts += [
        "__attribute__((constructor)) static void weft_choose(void) {",
        f"    static const int levels[] = {{{', '.join(map(str, numbers))}}};",
        f"    weft_chosen = weft_aot_choose(levels, {len(numbers)});",
        *starts,
        "}",
        "",
    ]
    return "\n".join(parts)


def _kernel(export: Export, levels: Sequence[tuple[int, Export]]) -> Iterator[str]:
    name = export.name
    for level, each in levels:
        yield f"int32_t weft_v{level}_{each.symbol}{_GROUPS};"
    yield f"static const struct {{ struct code code; struct run_unit unit; }} {name}_levels[] = {{"
    for level, each in levels:
        fixed, group, *lanes = each.arena
        sizes = f".fixed = {fixed}, .per_lane_group = {group}, .lanes = {{{', '.join(map(str, lanes))}}}, .chunk = 1"
        code = f"{{.entry = weft_v{level}_{each.symbol}, {sizes}}}"
        yield f"    {{{code}, {{{', '.join(map(str, each.run_unit))}}}}},"
    yield "};"
    yield f"{_PUBLIC} {prototype(export)} {{"
    yield from _filled(export)
    yield (
        f"    return weft_aot_launch(&{name}_levels[weft_chosen].code, &{name}_levels[weft_chosen].unit,"
        " grid, block, dynamic_bytes, weft_slots);"
    )
    yield "}"
    yield ""


def _function(export: Export, levels: Sequence[tuple[int, Export]]) -> Iterator[str]:
    yield from _entries(export.name, [(level, each.symbol) for level, each in levels])
    yield f"{_PUBLIC} {prototype(export)} {{"
    yield from _filled(export)
    words = sum(result.words for result in export.results)
    # Behind the results is the frame that it leaves its blocks and its error to (weft.ir.heap).
    yield f"    int64_t weft_results[{words + 3}] = {{0}};"
    if export.parallel:
        yield "    weft_aot_prepare();"
    yield f"    {export.name}_levels[weft_chosen](weft_slots, weft_results);"
    if export.returned:
        yield f"    {export.returned} weft_result;"
        yield "    memcpy(&weft_result, weft_results, sizeof weft_result);"
        yield "    return weft_result;"
    else:
        if export.fails:
            yield f"    int weft_status = (int)weft_results[{words + 1}];"
            yield "    if (!weft_status) {"
            yield from _arrays(export)
            yield "    }"
            yield f"    weft_aot_release((void *)weft_results[{words}]);"
            yield "    if (weft_status) return weft_status;"
        yield from _numbers(export)
        if export.fails:
            yield "    return 0;"
    yield "}"
    if export.fails:
        texts = [f"{kind}: {message}" if message else kind for kind, message in export.errors]
        yield f"{_PUBLIC} {failure(export)} {{"
        yield f"    static const char *const texts[] = {{{', '.join(map(_c_text, ['', *texts]))}}};"
        yield '    if (status == -1) return "MemoryError: there is no memory for a result";'
        yield f'    return status >= 0 && status <= {len(texts)} ? texts[status] : "";'
        yield "}"
    yield ""


def _arrays(export: Export) -> Iterator[str]:
    """Copies of the arrays that a function has returned: all, or none if there is no memory."""
    at, made = 0, list[str]()
    for result in export.results:
        if result.ndim >= 0:
            data, *extents = result.slots
            strides = "0" if result.contiguous else f"&weft_results[{at + 1 + result.ndim}]"
            place = f"(void *)weft_results[{at}], &weft_results[{at + 1}], {strides}, {result.ndim}"
            yield f"        *{data.name} = weft_aot_array({place}, {_size(result.dtype)});"
            freed = "".join(f"free(*{name}); " for name in made)
            yield f"        if (!*{data.name}) {{ {freed}weft_status = -1; goto weft_failed; }}"
            made.append(data.name)
            for k, extent in enumerate(extents):
                yield f"        *{extent.name} = weft_results[{at + 1 + k}];"
        at += result.words
    if made:
        yield "    weft_failed:;"


def _numbers(export: Export) -> Iterator[str]:
    at = 0
    for result in export.results:
        if result.ndim < 0:
            for k, slot in enumerate(result.slots):
                yield f"    memcpy({slot.name}, &weft_results[{at + k}], sizeof *{slot.name});"
        at += result.words


def _c_text(text: str) -> str:
    """A string as C has it."""
    letters = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(letters)}"'


def _ufunc(export: Export, levels: Sequence[tuple[int, Export]]) -> Iterator[str]:
    name, operands = export.name, export.parameters
    yield from _entries(name, [(level, each.symbol) for level, each in levels])
    yield from _entries(f"{name}_strided", [(level, each.strided) for level, each in levels])
    prepare = ["    weft_aot_prepare();"] if export.parallel else []
    count = len(operands)
    yield f"{_PUBLIC} {prototype(export)} {{"
    yield f"    int64_t weft_slots[{2 * count}], weft_results[1];"
    for k, operand in enumerate(operands):
        yield f"    memcpy(&weft_slots[{2 * k}], &{operand.name}, sizeof {operand.name});"
        yield f"    weft_slots[{2 * k + 1}] = weft_count;"
    yield from prepare
    yield f"    {name}_levels[weft_chosen](weft_slots, weft_results);"
    yield "}"
    # As NumPy calls the loops of ufuncs.
    sizes = ", ".join(_size(p.dtype) for p in operands)
    yield (
        f"{_PUBLIC} void weft_ufunc_{name}(char **args, const intptr_t *dimensions, const intptr_t *steps,"
        " void *data);"
    )
    yield (
        f"void weft_ufunc_{name}(char **args, const intptr_t *dimensions, const intptr_t *steps, void *data) {{"
    )
    yield f"    static const intptr_t sizes[] = {{{sizes}}};"
    yield f"    int64_t slots[{3 * count}], results[1];"
    yield "    int contiguous = 1;"
    yield "    (void)data;"
    yield f"    for (int k = 0; k < {count}; k++) contiguous &= steps[k] == sizes[k];"
    yield f"    for (int k = 0, at = 0; k < {count}; k++) {{"
    yield "        slots[at++] = (int64_t)(intptr_t)args[k];"
    yield "        slots[at++] = dimensions[0];"
    yield "        if (!contiguous) slots[at++] = steps[k];"
    yield "    }"
    yield from prepare
    yield f"    (contiguous ? {name}_levels : {name}_strided_levels)[weft_chosen](slots, results);"
    yield "}"
    yield ""


def _plain(export: Export, levels: Sequence[tuple[int, Export]]) -> Iterator[str]:
    name = export.name
    for level, each in levels:
        yield f"extern char weft_v{level}_{each.symbol}[];"
    listed = ", ".join(f"weft_v{level}_{each.symbol}" for level, each in levels)
    yield f"static void *const {name}_levels[] = {{{listed}}};"
    # A jump knows nothing of arguments, and leaves them where they are.
    yield f"void *weft_at_{name};"
    jump = f"{name}:\\n\\tendbr64\\n\\tjmp *weft_at_{name}(%rip)\\n"
    yield f'__asm__(".text\\n.globl {name}\\n.type {name},@function\\n{jump}.size {name}, .-{name}\\n");'
    yield ""


def _entries(name: str, symbols: Sequence[tuple[int, str]]) -> Iterator[str]:
    for level, symbol in symbols:
        yield f"void weft_v{level}_{symbol}(void *, void *);"
    listed = ", ".join(f"weft_v{level}_{symbol}" for level, symbol in symbols)
    yield f"static void (*const {name}_levels[])(void *, void *) = {{{listed}}};"


def _filled(export: Export) -> Iterator[str]:
    """The slots with the arguments in them."""
    slots = export.slots
    yield f"    int64_t weft_slots[{len(slots) + 2}] = {{0}};"
    for k, slot in enumerate(slots):
        if slot.role == "local":
            # Where it begins in dynamic local memory, whose parts begin at multiples of 128.
            yield f"    weft_slots[{k}] = dynamic_bytes;"
            yield f"    dynamic_bytes += ({slot.name} + 127) / 128 * 128;"
        else:
            yield f"    memcpy(&weft_slots[{k}], &{slot.name}, sizeof {slot.name});"
    if export.is_opencl:
        yield f"    weft_slots[{len(slots)}] = (int64_t)(intptr_t)weft_scope;"
        yield f"    weft_slots[{len(slots) + 1}] = grid[2] * block[2] > 1 ? 3 : grid[1] * block[1] > 1 ? 2 : 1;"


def _size(dtype: str) -> str:
    return "1" if dtype == "bool" else str(int("".join(c for c in dtype if c.isdigit())) // 8)


_MAKERS = {KERNEL: _kernel, FUNCTION: _function, UFUNC: _ufunc, PLAIN: _plain}
