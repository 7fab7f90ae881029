"""Writing modules."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.function import Function, GlobalAlias, GlobalVariable, Linkage, Module
from weft.ir.lexer import escape
from weft.ir.types import PointerType, quote_name
from weft.ir.writer.function import FunctionWriter
from weft.ir.writer.metadata import MetadataWriter
from weft.ir.writer.values import ValueWriter

_EXTERNAL = ("external", "extern_weak")


def write_module(module: Module, plain: bool = False) -> str:
    """The module's text.

    Parameters
    ----------
    module
        What to write.
    plain
        Whether LLVM itself has to read it: block predicates, shadows, guards and ``total`` are refused then.

    Raises
    ------
    VerifyError
        `plain` is set and the module uses the dialect.
    """
    values = ValueWriter()
    functions = FunctionWriter(values, MetadataWriter(values), {}, plain)
    return module_text(module, functions, functions.write)


def module_text(module: Module, functions: FunctionWriter, write: Callable[[Function], str]) -> str:
    """The module's text.

    Parameters
    ----------
    module
        What to write.
    functions
        Writes symbols, attribute groups and metadata as functions refer to them.
    write
        Gives the text of a definition or declaration, which refers to them as `functions` does.
    """
    values, metadata, groups = functions.values, functions.metadata, functions.groups
    assert metadata is not None and groups is not None
    values.structs.update(module.types)
    values.metadata_text = metadata.ref
    named = [
        f"!{name} = !{{{', '.join([metadata.ref(node) for node in nodes])}}}"
        for name, nodes in module.named_metadata.items()
    ]
    symbols = [_global(v, values, metadata) for v in module.globals.values()]
    symbols += [_alias(a, values) for a in module.aliases.values()]
    bodies = [write(f) for f in module.functions.values()]
    attributes = [f"attributes {name} = {{ {_group(texts)} }}" for texts, name in groups.items()]
    nodes = metadata.definitions()
    sections = (_head(module), _types(values), _comdats(module), symbols, bodies, attributes, named, nodes)
    return "\n\n".join(["\n".join(lines) for lines in sections if lines]) + "\n"


def _head(module: Module) -> list[str]:
    lines = [f"; ModuleID = '{module.name}'"]
    if module.source_filename:
        lines.append(
            f'source_filename = "{escape(module.source_filename.encode("utf-8", "surrogateescape"))}"'
        )
    if module.datalayout:
        lines.append(f'target datalayout = "{module.datalayout}"')
    if module.triple:
        lines.append(f'target triple = "{module.triple}"')
    lines += [f'module asm "{text}"' for text in module.asm]
    return lines


def _types(values: ValueWriter) -> list[str]:
    return [f"%{quote_name(name)} = type {type.body}" for name, type in values.structs.items()]


def _comdats(module: Module) -> list[str]:
    return [f"${quote_name(name)} = comdat {kind}" for name, kind in module.comdats.items()]


def _prefix(linkage: Linkage) -> list[str]:
    parts = (
        linkage.linkage, linkage.preemption, linkage.visibility, linkage.dll_storage, linkage.thread_local,
        linkage.unnamed_addr,
    )  # fmt: skip
    return [p for p in parts if p]


def _global(variable: GlobalVariable, values: ValueWriter, metadata: MetadataWriter) -> str:
    linkage = variable.linkage
    words = [values.symbol(variable), "=", *_prefix(linkage)]
    if variable.initializer is None and linkage.linkage not in _EXTERNAL:
        words.insert(2, "external")
    assert isinstance(variable.type, PointerType)
    if variable.type.space:
        words.append(f"addrspace({variable.type.space})")
    if variable.externally_initialized:
        words.append("externally_initialized")
    words.append("constant" if variable.is_constant else "global")
    words.append(values.type(variable.value_type))
    if variable.initializer is not None:
        words.append(values.value(variable.initializer))
    parts = [" ".join(words)]
    if linkage.section:
        parts.append(f'section "{linkage.section}"')
    if linkage.comdat:
        same = linkage.comdat == variable.name
        parts.append("comdat" if same else f"comdat(${quote_name(linkage.comdat)})")
    if linkage.align:
        parts.append(f"align {linkage.align}")
    parts += [f"!{kind} {metadata.ref(node)}" for kind, node in variable.metadata]
    return ", ".join(parts)


def _alias(alias: GlobalAlias, values: ValueWriter) -> str:
    assert alias.aliasee is not None
    words = [values.symbol(alias), "=", *_prefix(alias.linkage), "alias"]
    return f"{' '.join(words)} {values.type(alias.value_type)}, {values.typed(alias.aliasee)}"


def _group(texts: tuple[str, ...]) -> str:
    """Attributes as they are spelled in a group."""
    return " ".join([t.replace("(", "=").rstrip(")") if t.startswith("alignstack(") else t for t in texts])
