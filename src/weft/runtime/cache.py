"""Object code on disk, so that a kernel is compiled once for all processes.

An entry is one file, named by the SHA-256 of all that its code depends on. It begins with a checksum of the
rest, so an entry that was cut short or damaged is a miss, never code that runs. Files are written under
another name and renamed into place: readers see a whole entry or none. Of processes that want the same entry at
the same time one makes it (`weft.runtime.one_maker`). The least recently used entries go when the directory outgrows
its limit.

What is in an entry runs. A directory or entry that belongs to another user, or that the group or others may write to,
is not used: with a warning, everything is compiled again.

Three environment variables rule it: ``WEFT_CACHE=0`` turns it off, ``WEFT_CACHE_DIR`` says where it is, and
``WEFT_CACHE_SIZE`` how many MiB it may take (512 unless told).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

import weft
from weft.diag.errors import SettingError
from weft.runtime.one_maker import only_maker
from weft.runtime.settings import cache_directory

_MAGIC = b"weft-object-1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_SUFFIX = ".weft"
_TEMPORARY = "weft-"
_ENTRIES = f"[0-9a-f][0-9a-f]/*{_SUFFIX}"
_TEMPORARIES = f"[0-9a-f][0-9a-f]/{_TEMPORARY}*"
_DEFAULT_LIMIT_MIB = 512
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TOUCH_AFTER = 3600.0
"""An entry's time of last use is kept to the hour: a hit then costs no write."""
_STALE_TEMPORARY = 600.0
"""Seconds after which a file that was never renamed is what a killed process left behind."""
_SHARE = 64
"""So many processes may store at once before the directory can outgrow its limit."""


class CacheEntry(Struct, frozen=True):
    """What the cache holds for a key.

    Parameters
    ----------
    code
        The object file.
    metadata
        What the one who stored it needs to use it again; JSON values.
    """

    code: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)


_SOURCES = (".py", ".cl", ".h", ".ll")
"""What weft's files that decide about code end with: builtin libraries of C dialects are among them."""


def cache_key(*parts: str | bytes) -> str:
    """Return the key for code that depends on the parts, and on the version and source of weft itself."""
    digest = hashlib.sha256()
    for part in (_compiler_stamp(), *parts):
        data = part.encode() if isinstance(part, str) else part
        # With its kind and length, so that no two lists of parts run together to the same bytes.
        digest.update(b"%c%d:" % (b"s"[0] if isinstance(part, str) else b"b"[0], len(data)))
        digest.update(data)
    return digest.hexdigest()


class ObjectCache:
    """A directory of object files.

    Parameters
    ----------
    directory
        Where; made when the first entry is stored.
    limit_bytes
        How much it may hold.
    """

    def __init__(self, directory: Path, limit_bytes: int = _DEFAULT_LIMIT_MIB << 20) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        # Bytes to store before the directory's size is next looked at: unknown at first, so at once.
        self._until_sweep = 0
        self._warned = False

    def get(self, key: str) -> CacheEntry | None:
        """Return the entry of a key; None if there is none, or none that is whole."""
        path = self._path(key)
        data = self._read(path) if self._is_trusted() else None
        if data is None:
            return None
        entry = _decode(data, key)
        if entry is None:
            _discard(path)
            return None
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _TOUCH_AFTER:
                os.utime(path)
        return entry

    def put(self, key: str, entry: CacheEntry) -> None:
        """Store an entry; one that cannot be written is lost with a warning: the code itself is at hand."""
        path = self._path(key)
        data = _encode(entry, key)
        if len(data) > self.limit_bytes:
            return
        try:
            self._make_folders(path)
            if not self._is_trusted():
                return
            descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                os.replace(temporary, path)
            except BaseException:
                _discard(Path(temporary))
                raise
        except OSError as error:
            self._warn(f"the compile cache cannot be written: {error}")
            return
        self._until_sweep -= len(data)
        if self._until_sweep < 0:
            self._sweep()

    def get_or_make(self, key: str, make: Callable[[], CacheEntry]) -> CacheEntry:
        """Return the entry of a key, made and stored if there is none."""
        entry = self.get(key)
        if entry is None:
            with self.making(key):
                entry = self.get(key)
                if entry is None:
                    entry = make()
                    self.put(key, entry)
        return entry

    def making(self, key: str) -> AbstractContextManager[None]:
        """Wait while another process makes the entry of a key, and keep others waiting from then on.

        Who holds it looks for the entry once more.
        """
        path = self._path(key)
        try:
            self._make_folders(path)
        except OSError:
            return contextlib.nullcontext()
        # Named as what is written before it is renamed: what a killed process leaves behind goes the same way.
        lock = path.with_name(f"{_TEMPORARY}{path.stem}.lock")
        return only_maker(lock) if self._is_trusted() else contextlib.nullcontext()

    def _make_folders(self, path: Path) -> None:
        # One by one: parents would get the mode that the user's mask leaves.
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._is_trusted():
            path.parent.mkdir(mode=0o700, exist_ok=True)

    def clear(self) -> None:
        """Remove all entries."""
        for _, _, path in self._ages(_ENTRIES):
            _discard(path)
        self._remove_stale()

    def size(self) -> tuple[int, int]:
        """Return the number of entries and their bytes."""
        sizes = [size for _, size, _ in self._ages(_ENTRIES)]
        return len(sizes), sum(sizes)

    def _sweep(self) -> None:
        """Remove the longest unused entries until a tenth of the limit is free."""
        self._remove_stale()
        ages = sorted(self._ages(_ENTRIES))
        total = sum(size for _, size, _ in (*ages, *self._ages(_TEMPORARIES)))
        room = self.limit_bytes - self.limit_bytes // 10
        if total > self.limit_bytes:
            for _, size, path in ages:
                if total <= room:
                    break
                _discard(path)
                total -= size
        self._until_sweep = max(0, self.limit_bytes - total) // _SHARE

    def _remove_stale(self) -> None:
        # Younger ones belong to processes that are about to rename them.
        for age, _, path in self._ages(_TEMPORARIES):
            if time.time() - age > _STALE_TEMPORARY:
                _discard(path)

    def _ages(self, pattern: str) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, size and path of each file that this class wrote, and of no others."""
        with contextlib.suppress(OSError):
            for path in self.directory.glob(pattern):
                with contextlib.suppress(OSError):
                    status = path.stat()
                    yield status.st_mtime, status.st_size, path

    def _is_trusted(self) -> bool:
        """Whether nobody else may have put anything into the directory, or it is not there yet."""
        try:
            status = os.stat(self.directory)
        except OSError:
            return True
        return self._is_private(status, self.directory)

    def _read(self, path: Path) -> bytes | None:
        """Return what a file holds; None if there is none, or anybody else may have written it."""
        try:
            with open(os.open(path, _READ), "rb") as file:
                return file.read() if self._is_private(os.fstat(file.fileno()), path) else None
        except OSError:
            return None

    def _is_private(self, status: os.stat_result, path: Path) -> bool:
        if status.st_uid != os.geteuid():
            self._warn(f"the compile cache is not used: {path} belongs to another user")
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            self._warn(f"the compile cache is not used: others may write to {path} (chmod go-w helps)")
        else:
            return True
        return False

    def _warn(self, text: str) -> None:
        """Say once what is wrong with the directory: a program may meet it at every kernel."""
        if not self._warned:
            self._warned = True
            warnings.warn(text, RuntimeWarning, stacklevel=4)

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key[2:]}{_SUFFIX}"


def default_cache() -> ObjectCache | None:
    """Return the cache that the environment asks for, None if it asks for none."""
    if os.environ.get("WEFT_CACHE", "1") in ("0", "off", "no", "false"):
        return None
    return _cache_at(cache_directory(), os.environ.get("WEFT_CACHE_SIZE", str(_DEFAULT_LIMIT_MIB)))


@functools.cache
def _cache_at(directory: Path, limit_mib: str) -> ObjectCache:
    if not limit_mib.isdecimal():
        raise SettingError(f"WEFT_CACHE_SIZE is a number of MiB, not {limit_mib!r}")
    return ObjectCache(directory, int(limit_mib) << 20)


@functools.cache
def _compiler_stamp() -> str:
    """Return what tells one state of the compiler from another: version, and sizes and times of its files."""
    return repr((weft.__version__, sorted(_states(os.path.dirname(weft.__file__)))))


def _states(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of each source file in a folder; a process that starts waits for that."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SOURCES):
                state = entry.stat()
                yield entry.path, state.st_size, state.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _states(entry.path)


def _encode(entry: CacheEntry, key: str) -> bytes:
    import json

    metadata = json.dumps(entry.metadata, sort_keys=True).encode()
    body = b"".join((len(metadata).to_bytes(8, "little"), metadata, entry.code))
    return _MAGIC + _checksum(body, key) + body


def _decode(data: bytes, key: str) -> CacheEntry | None:
    start = len(_MAGIC) + _DIGEST_SIZE
    body = data[start:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _checksum(body, key):
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    return CacheEntry(body[end:], _metadata(body[8:end]))


def _metadata(text: bytes) -> dict[str, Any]:
    # msgspec's reader is there in any case; what it does not take are numbers that are none, and names of files that
    # are no text.
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        import json

        return json.loads(text)


def _checksum(body: bytes, key: str) -> bytes:
    # The key is part of it: an entry copied under another name is no entry.
    return hashlib.sha256(key.encode() + body).digest()


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
