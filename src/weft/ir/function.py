"""Functions, global variables and modules."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from weft.ir.block import BasicBlock
from weft.ir.constants import Constant, Poison
from weft.ir.instruction import Instruction
from weft.ir.layout import DataLayout, parse_datalayout
from weft.ir.metadata import MDNode, Metadata
from weft.ir.types import FunctionType, StructType, Type, pointer
from weft.ir.values import Argument, Value, string_attribute


class Linkage(Struct):
    """What LLVM writes around a global's name, each part as its text, empty when absent."""

    linkage: str = ""
    preemption: str = ""
    visibility: str = ""
    dll_storage: str = ""
    thread_local: str = ""
    unnamed_addr: str = ""
    section: str = ""
    comdat: str = ""
    align: int = 0


class GlobalValue(Constant):
    """A named address: function or global variable. Compared by identity, since names can change."""

    __slots__ = ("linkage", "metadata")

    def __init__(self, type: Type, name: str) -> None:
        super().__init__(type)
        self.name = name
        self.linkage = Linkage()
        self.metadata: list[tuple[str, Metadata]] = []

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class GlobalVariable(GlobalValue):
    """A global variable; `initializer` is None for an external declaration."""

    __slots__ = ("externally_initialized", "initializer", "is_constant", "value_type")

    def __init__(
        self,
        name: str,
        value_type: Type,
        initializer: Value | None = None,
        *,
        is_constant: bool = False,
        space: int = 0,
    ) -> None:
        super().__init__(pointer(space), name)
        self.value_type = value_type
        self.initializer = initializer
        self.is_constant = is_constant
        self.externally_initialized = False

    def __repr__(self) -> str:
        return f"<GlobalVariable @{self.name}>"


class GlobalAlias(GlobalValue):
    """Another name for `aliasee`, a global or a constant address."""

    __slots__ = ("aliasee", "value_type")

    def __init__(self, name: str, type: Type, value_type: Type, aliasee: Value | None = None) -> None:
        super().__init__(type, name)
        self.value_type = value_type
        self.aliasee = aliasee

    def __repr__(self) -> str:
        return f"<GlobalAlias @{self.name}>"


class Function(GlobalValue):
    """A function definition, or a declaration when it has no blocks. ``blocks[0]`` is the entry.

    `attributes` are function attributes with attribute groups already written out, each as its text
    (``nounwind``, ``memory(none)``, ``"key"="value"``); `return_attributes` likewise.
    """

    __slots__ = (
        "args", "attributes", "blocks", "calling_convention", "fn_type", "gc", "module", "personality",
        "ranges", "return_attributes", "view",
    )  # fmt: skip

    is_function = True

    def __init__(self, name: str, fn_type: FunctionType, arg_names: tuple[str, ...] = ()) -> None:
        super().__init__(pointer(), name)
        self.fn_type = fn_type
        names = arg_names or ("",) * len(fn_type.params)
        self.args = [Argument(t, n, i) for i, (t, n) in enumerate(zip(fn_type.params, names, strict=True))]
        self.blocks: list[BasicBlock] = []
        self.attributes: tuple[str, ...] = ()
        self.return_attributes: tuple[str, ...] = ()
        self.calling_convention = ""
        self.gc = ""
        self.personality: Value | None = None
        self.module: Module | None = None
        # Of `weft.ir.cfg_view.cfg_of`.
        self.view: object = None
        # Of `weft.analysis.integers.kept_ranges.ranges_of`.
        self.ranges: object = None

    def __repr__(self) -> str:
        return f"<Function @{self.name}>"

    @property
    def is_declaration(self) -> bool:
        return not self.blocks

    @property
    def entry(self) -> BasicBlock:
        return self.blocks[0]

    @property
    def layout(self) -> DataLayout:
        """The layout of the module it is in; that of x86-64 outside of one."""
        return parse_datalayout(self.module.datalayout if self.module is not None else "")

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction in block order."""
        for block in self.blocks:
            yield from block.instructions

    def append_parameter(self, type: Type, name: str, attributes: tuple[str, ...] = ("noundef",)) -> Argument:
        """Give the function a parameter more, the last one; its callers are not changed."""
        old = self.fn_type
        self.fn_type = FunctionType(old.result, (*old.params, type), old.vararg)
        argument = Argument(type, name, len(self.args), attributes)
        self.args.append(argument)
        return argument

    def add_block(self, name: str = "", after: BasicBlock | None = None) -> BasicBlock:
        """A new empty block, at the end or right after another."""
        block = BasicBlock(name, self)
        if after is None:
            self.blocks.append(block)
        else:
            self.blocks.insert(self.blocks.index(after) + 1, block)
        return block

    def remove_blocks(self, dead: set[BasicBlock]) -> None:
        """Remove unreachable blocks, φ edges from them included."""
        for block in dead:
            for successor in block.successors:
                if successor not in dead:
                    successor.remove_phi_source(block)
        for block in dead:
            block.set_predicate(None)
            for instruction in block.instructions:
                for record in instruction.debug_records:
                    record.drop()
                instruction.drop_operands()
        for block in dead:
            for instruction in block.instructions:
                assert not instruction.users, f"{instruction!r} in a dead block is used by live code"
                for record in list(instruction.records):
                    record.replace(instruction, Poison(instruction.type))
        self.blocks = [b for b in self.blocks if b not in dead]

    def attribute(self, key: str) -> str | None:
        """The value of string attribute `key` (``"key"="value"``; ``""`` if it has none), or None."""
        return string_attribute(self.attributes, key)

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is present; `name` without its argument (``memory``, ``convergent``)."""
        return any(text == name or text.startswith(f"{name}(") for text in self.attributes)

    @property
    def subprogram(self) -> MDNode | None:
        """The function's DISubprogram."""
        for kind, node in self.metadata:
            if kind == "dbg" and isinstance(node, MDNode):
                return node
        return None


class Module(Struct):
    """A translation unit: named types, globals, functions, metadata, in source order."""

    name: str = "weft"
    source_filename: str = ""
    datalayout: str = ""
    triple: str = ""
    asm: list[str] = field(default_factory=list)
    types: dict[str, StructType] = field(default_factory=dict)
    comdats: dict[str, str] = field(default_factory=dict)
    globals: dict[str, GlobalVariable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, GlobalAlias] = field(default_factory=dict)
    named_metadata: dict[str, list[Metadata]] = field(default_factory=dict)
    # Of `weft.analysis.divergence.summaries.summaries_of`.
    summaries: object = None

    def add_function(self, function: Function) -> Function:
        assert function.name not in self.functions, f"@{function.name} is already in the module"
        self.functions[function.name] = function
        function.module = self
        return function

    def add_global(self, variable: GlobalVariable) -> GlobalVariable:
        assert variable.name not in self.globals, f"@{variable.name} is already in the module"
        self.globals[variable.name] = variable
        return variable

    def declare(self, name: str, fn_type: FunctionType, attributes: tuple[str, ...] = ()) -> Function:
        """The function `name`, declared if the module does not have it yet."""
        existing = self.functions.get(name)
        if existing is not None:
            assert existing.fn_type == fn_type, f"@{name} is {existing.fn_type}, not {fn_type}"
            return existing
        function = Function(name, fn_type)
        function.attributes = attributes
        return self.add_function(function)

    @property
    def layout(self) -> DataLayout:
        """Sizes and offsets of types by the module's data layout, which is parsed once for each text."""
        return parse_datalayout(self.datalayout)

    def unused_name(self, base: str) -> str:
        """`base`, or with a number behind it if a function, global or alias has that name."""
        name, number = base, 1
        while name in self.functions or name in self.globals or name in self.aliases:
            number += 1
            name = f"{base}.{number}"
        return name

    def definitions(self) -> Iterator[Function]:
        return (f for f in self.functions.values() if f.blocks)
