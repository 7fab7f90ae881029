"""PTX in the fat binaries of nvcc, which hold a program's device code for several architectures.

A fat binary is a header (magic number, version, bytes of the header, bytes of all entries) and entries: kind, bytes of
the entry's header, bytes of its content, how it is packed, and the architecture. Contents are packed by Zstandard or
LZ4.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from weft.diag.errors import CompileError, UnsupportedError

_MAGIC = 0xBA55ED50
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ")
_PTX = 1
_PACKED, _ARCHITECTURE, _FLAGS, _UNPACKED = 16, 28, 40, 56
"""Where an entry's header has the packed size, the architecture, flags, and the size of what is packed."""

_LZ4, _ZSTANDARD = 1 << 13, 1 << 15


class EmbeddedPtx(Struct, frozen=True):
    """PTX in a fat binary.

    Parameters
    ----------
    architecture
        What it is for: 75 for ``sm_75``.
    text
        The PTX.
    """

    architecture: int
    text: str


def embedded_ptx(fatbin: bytes) -> Iterator[EmbeddedPtx]:
    """The PTX of a fat binary, in its order.

    Raises
    ------
    CompileError
        It is none, or is cut off.
    UnsupportedError
        Something is packed in a way that cannot be undone here.
    """
    try:
        magic, _, header, size = _HEADER.unpack_from(fatbin)
        if magic != _MAGIC:
            raise CompileError("the program's device code is no fat binary")
        at, end = header, header + size
        while at < end:
            kind, _, entry_header, content = _ENTRY.unpack_from(fatbin, at)
            if kind == _PTX:
                (architecture,) = struct.unpack_from("<I", fatbin, at + _ARCHITECTURE)
                data = _content(fatbin, at, entry_header, content)
                yield EmbeddedPtx(architecture, data.partition(b"\0")[0].decode(errors="replace"))
            at += entry_header + content
    except struct.error:
        raise CompileError("the program's device code is cut off") from None


def _content(fatbin: bytes, at: int, header: int, size: int) -> bytes:
    (flags,) = struct.unpack_from("<Q", fatbin, at + _FLAGS)
    content = fatbin[at + header : at + header + size]
    if not flags & (_LZ4 | _ZSTANDARD):
        return content
    (packed,) = struct.unpack_from("<I", fatbin, at + _PACKED)
    (unpacked,) = struct.unpack_from("<Q", fatbin, at + _UNPACKED)
    unpack = _zstandard() if flags & _ZSTANDARD else _lz4()
    return unpack(content[:packed], unpacked)


def chosen(found: Sequence[EmbeddedPtx], capability: int) -> list[EmbeddedPtx]:
    """Of PTX for several architectures that for the newest up to `capability`, or else for the oldest."""
    known = sorted({ptx.architecture for ptx in found})
    older = [a for a in known if a <= capability]
    wanted = older[-1] if older else known[0]
    return [ptx for ptx in found if ptx.architecture == wanted]


Unpack = Callable[[bytes, int], bytes]


@cache
def _zstandard() -> Unpack:
    library = _library("zstd", "libzstd.so.1", "ZSTD_decompress")
    function = library.ZSTD_decompress
    function.restype = ctypes.c_size_t
    function.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

    def unpack(data: bytes, size: int) -> bytes:
        out = ctypes.create_string_buffer(size)
        return _checked(out, function(out, size, data, len(data)), size)

    return unpack


@cache
def _lz4() -> Unpack:
    library = _library("lz4", "liblz4.so.1", "LZ4_decompress_safe")

    def unpack(data: bytes, size: int) -> bytes:
        out = ctypes.create_string_buffer(size)
        return _checked(out, library.LZ4_decompress_safe(data, out, len(data), size), size)

    return unpack


def _checked(out: ctypes.Array[ctypes.c_char], got: int, size: int) -> bytes:
    if got != size:
        raise CompileError("the program's PTX cannot be unpacked")
    return out.raw


def _library(name: str, file: str, symbol: str) -> Any:
    for candidate in (file, ctypes.util.find_library(name)):
        try:
            library = ctypes.CDLL(candidate) if candidate else None
        except OSError:
            continue
        if library is not None and hasattr(library, symbol):
            return library
    raise UnsupportedError(
        f"the program's PTX is compressed, and there is no {file}",
        hint=f"install {file} (Debian: lib{name}{'-1' if name == 'lz4' else '1'}), or build with nvcc -no-compress",
    )
