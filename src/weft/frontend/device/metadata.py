"""What a program says of its kernels: arguments and attributes (OpenCL API 3.0, §5.9.4), from clang's metadata."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Passing(StrEnum):
    """How an argument comes to the kernel."""

    BUFFER = "buffer"
    """A pointer to global or constant memory, or null: one slot."""
    LOCAL = "local"
    """A number of bytes of local memory: one slot, where they begin in the launch's dynamic local memory."""
    VALUE = "value"
    """A number or a vector: one slot for each element, the value in its low bytes."""
    RECORD = "record"
    """A struct, union or array: one slot, a pointer to its bytes, which must live until the launch is done."""
    IMAGE = "image"
    SAMPLER = "sampler"


SIGNLESS = "signless"
"""The qualifier of an integer that may be taken with a sign or without."""

ADDRESS = "address"
"""The qualifier of numbers that may be addresses, too: an array is taken, and its address passed."""

UNUSED = "unused"
"""The qualifier of numbers that a kernel makes no use of, and that may have been addresses in its source."""


class ArgumentInfo(Struct, frozen=True):
    """An argument of a kernel.

    Parameters
    ----------
    name
        Its name in the source.
    type_name
        Its type as the source writes it (``float4*``).
    address_space
        ``global``, ``constant``, ``local`` or ``private``.
    access
        ``read_only``, ``write_only``, ``read_write`` or ``none``.
    qualifiers
        Of ``const``, ``restrict``, ``volatile``, ``pipe``, `SIGNLESS`, `ADDRESS` and `UNUSED` those that it has.
    passing
        How it is passed.
    size, align
        Bytes of a value; of a pointer's target the alignment, and 8 bytes.
    element
        NumPy's code of a number, or of a vector's elements (``f4``); what a pointer leads to where that is a number or
        vector of numbers; empty otherwise.
    lanes
        Elements of a vector, 1 for numbers.
    fields
        The numbers in a record: the byte offset of each, and its kind and size (``f4``, ``i2``).
    line
        Where it stands in the source; 0 where that is not known.
    """

    name: str
    type_name: str
    address_space: str
    access: str
    qualifiers: tuple[str, ...]
    passing: Passing
    size: int
    align: int
    element: str = ""
    lanes: int = 1
    fields: tuple[tuple[int, str], ...] = ()
    line: int = 0


class KernelInfo(Struct, frozen=True):
    """A kernel of a program.

    Parameters
    ----------
    name
        Its name.
    arguments
        What it takes, in order.
    required_size, size_hint
        ``reqd_work_group_size`` and ``work_group_size_hint``; None where the source says nothing.
    vector_hint
        ``vec_type_hint``, as ``CL_KERNEL_ATTRIBUTES`` shows it; empty where there is none.
    sub_group_size
        Work-items of a sub-group.
    uses_sub_groups
        Whether it asks what other work-items of its sub-group do.
    local_bytes
        Local memory that it declares itself.
    private_bytes
        Private memory of a work-item, as the source declares it.
    file, line
        Where it is defined.
    """

    name: str
    arguments: tuple[ArgumentInfo, ...]
    required_size: tuple[int, int, int] | None = None
    size_hint: tuple[int, int, int] | None = None
    vector_hint: str = ""
    sub_group_size: int = 32
    uses_sub_groups: bool = False
    local_bytes: int = 0
    private_bytes: int = 0
    file: str = ""
    line: int = 0
