import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.diag.errors import SettingError
from weft.runtime.cache import CacheEntry, ObjectCache, _compiler_stamp, cache_key, default_cache

KEY = cache_key("kernel")
ENTRY = CacheEntry(b"\x7fELF" + bytes(range(200)), {"arena": [64, 8], "symbols": ["_ZGVeN16v_expf"]})


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "cache")


def file_of(cache: ObjectCache) -> Path:
    (file,) = cache.directory.glob("*/*.weft")
    return file


def test_entry_comes_back_as_it_was_stored(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY
    assert cache.get(cache_key("another kernel")) is None


def test_key_depends_on_each_part_its_kind_and_where_parts_end():
    keys = {
        cache_key(*parts)
        for parts in [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (b"ab", "c"), ("c", "ab"), ()]
    }
    assert len(keys) == 7
    assert cache_key("ab", "c") == cache_key("ab", "c")


def test_key_depends_on_the_builtin_libraries_of_other_languages() -> None:
    stamp = _compiler_stamp()
    assert all(
        f"{name}'" in stamp for name in ("library/geometric.cl", "library/base.h", "target/helpers.ll")
    )


def test_damage_to_any_byte_is_a_miss_and_removes_the_entry(cache):
    cache.put(KEY, ENTRY)
    file = file_of(cache)
    whole = file.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        file.write_bytes(damaged)
        assert cache.get(KEY) is None, position
        assert not file.exists()
    file.write_bytes(whole)
    assert cache.get(KEY) == ENTRY


def test_entry_cut_short_or_grown_is_a_miss(cache):
    cache.put(KEY, ENTRY)
    file = file_of(cache)
    whole = file.read_bytes()
    for data in [*(whole[:n] for n in range(len(whole))), whole + b"\0", b"\0" + whole]:
        file.write_bytes(data)
        assert cache.get(KEY) is None, len(data)


def test_entry_under_another_name_is_a_miss(cache):
    cache.put(KEY, ENTRY)
    other = cache_key("another kernel")
    cache.put(other, CacheEntry(b"other"))
    path = cache.directory / other[:2] / f"{other[2:]}.weft"
    path.write_bytes((cache.directory / KEY[:2] / f"{KEY[2:]}.weft").read_bytes())
    assert cache.get(other) is None


@settings(max_examples=20)
@given(code=st.binary(max_size=300), text=st.text(max_size=20), number=st.integers(-(2**40), 2**40))
def test_any_code_and_metadata_survive(tmp_path_factory, code, text, number):
    cache = ObjectCache(tmp_path_factory.getbasetemp() / "any")
    entry = CacheEntry(code, {"text": text, "number": [number, None]})
    cache.put(KEY, entry)
    assert cache.get(KEY) == entry


def test_longest_unused_entries_go_first_when_the_limit_is_passed(tmp_path):
    cache = ObjectCache(tmp_path, limit_bytes=20_000)
    keys = [cache_key(str(n)) for n in range(12)]
    for age, key in enumerate(keys[:-1]):
        cache.put(key, CacheEntry(bytes(1900)))
        path = tmp_path / key[:2] / f"{key[2:]}.weft"
        if path.exists():
            os.utime(path, times=(time.time() - 7200 * (20 - age),) * 2)
        # A hit makes the oldest entry the youngest.
        assert cache.get(keys[0])
    cache.put(keys[-1], CacheEntry(bytes(1900)))
    held = [cache.get(key) is not None for key in keys]
    assert held[0]
    assert held[-1]
    assert held[1:-1] == sorted(held[1:-1])
    assert not held[1]
    assert cache.size()[1] <= 20_000


def test_files_that_a_killed_process_left_are_swept_up(cache):
    cache.put(KEY, ENTRY)
    fresh, stale = (file_of(cache).parent / f"weft-{name}" for name in ("fresh", "stale"))
    for path in (fresh, stale):
        path.write_bytes(b"half an entry")
    os.utime(stale, times=(0, 0))
    ObjectCache(cache.directory).put(KEY, ENTRY)
    assert fresh.exists()
    assert not stale.exists()


def test_clear_removes_entries_and_nothing_else(cache):
    cache.put(KEY, ENTRY)
    mine = file_of(cache).parent / "notes.txt"
    mine.write_text("not the cache's")
    assert cache.size()[0] == 1
    cache.clear()
    assert cache.size() == (0, 0)
    assert mine.exists()


def test_directory_that_cannot_be_written_warns_and_misses(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    cache = ObjectCache(occupied)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        cache.put(KEY, ENTRY)
    assert cache.get(KEY) is None


def test_environment_rules_the_default_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("WEFT_CACHE_SIZE", "3")
    monkeypatch.delenv("WEFT_CACHE", raising=False)
    cache = default_cache()
    assert cache is not None
    assert (cache.directory, cache.limit_bytes) == (tmp_path / "here", 3 << 20)
    monkeypatch.setenv("WEFT_CACHE_SIZE", "much")
    with pytest.raises(SettingError, match="WEFT_CACHE_SIZE"):
        default_cache()
    monkeypatch.setenv("WEFT_CACHE", "0")
    assert default_cache() is None


def others_may_write(path: Path) -> None:
    path.chmod(0o770)


def anyone_may_write(path: Path) -> None:
    path.chmod(0o702)


@pytest.mark.spread
@pytest.mark.parametrize("open_to", [others_may_write, anyone_may_write])
@pytest.mark.parametrize("what", ["directory", "entry"])
def test_what_others_may_have_written_is_not_used(cache, open_to, what):
    cache.put(KEY, ENTRY)
    open_to(cache.directory if what == "directory" else file_of(cache))
    other = ObjectCache(cache.directory)
    with pytest.warns(RuntimeWarning, match="not used: others may write to") as said:
        assert [other.get(KEY) for _ in range(2)] == [None, None]
    assert len(said) == 1
    if what == "directory":
        before = file_of(cache).stat()
        other.put(KEY, CacheEntry(b"new"))
        assert file_of(cache).stat() == before
    else:
        other.put(KEY, CacheEntry(b"new"))
        assert other.get(KEY) == CacheEntry(b"new")


def test_what_belongs_to_another_user_is_not_used(cache, monkeypatch):
    cache.put(KEY, ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: cache.directory.stat().st_uid + 1)
    other = ObjectCache(cache.directory)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert other.get(KEY) is None
    other.put(cache_key("another kernel"), ENTRY)
    assert other.size()[0] == 1


def test_a_link_is_no_entry(cache, tmp_path):
    cache.put(KEY, ENTRY)
    file = file_of(cache)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert cache.get(KEY) is None


def test_the_directory_is_made_for_its_user_alone(tmp_path):
    cache = ObjectCache(tmp_path / "deep" / "cache")
    before = os.umask(0)
    try:
        cache.put(KEY, ENTRY)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o077 for path in (cache.directory, *cache.directory.rglob("*"))}
    assert modes == {0}
    assert cache.get(KEY) == ENTRY


def test_files_under_way_count_and_an_entry_over_the_limit_is_not_stored(tmp_path):
    cache = ObjectCache(tmp_path, limit_bytes=20_000)
    cache.put(KEY, ENTRY)
    (file_of(cache).parent / "weft-under-way").write_bytes(bytes(19_900))
    ObjectCache(tmp_path, limit_bytes=20_000).put(cache_key("another kernel"), ENTRY)
    assert cache.size()[0] < 2
    cache.put(KEY, CacheEntry(bytes(30_000)))
    assert cache.size()[1] < 20_000


FULL = """
import sys, warnings
from pathlib import Path
import numpy as np
from weft import cuda
from weft.runtime.cache import default_cache

def adder(amount):
    def add(x):
        i = cuda.grid(1)
        x[i] += amount
    return cuda.jit(add)

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for amount in range(12):
        x = np.zeros(8)
        adder(amount)[1, 8](x)
        assert x.tolist() == [amount] * 8
(warning,) = said
assert "the compile cache cannot be written" in str(warning.message), warning
cache = default_cache()
files = [file for file in cache.directory.rglob("*") if file.is_file()]
assert all(cache.get(file.parent.name + file.stem) for file in files), files
print(warning.message)
"""


def test_on_a_full_file_system_everything_is_compiled_and_nothing_is_left_in_part(tmp_path):
    script = f'mount -t tmpfs -o size=40k,mode=700 tmpfs {tmp_path} && exec "$@"'
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() else [])]
    try:
        subprocess.run([*unshare, "sh", "-c", script, "sh", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert "No space left on device" in full(tmp_path, *unshare, "sh", "-c", script, "sh")


def test_files_that_may_not_grow_are_not_left_in_part(tmp_path):
    assert "File too large" in full(tmp_path, "sh", "-c", 'ulimit -f 2; exec "$@"', "sh")


def full(directory: Path, *before: str) -> str:
    environment = os.environ | {"WEFT_CACHE_DIR": str(directory / "cache"), "WEFT_CHECK": "0"}
    program = directory.parent / "full.py"
    program.write_text(FULL)
    done = subprocess.run(
        [*before, sys.executable, str(program)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROCESS = """
import random, sys
from pathlib import Path
from weft.runtime.cache import CacheEntry, ObjectCache, cache_key
seed = int(sys.argv[2])
random.seed(seed)
cache = ObjectCache(Path(sys.argv[1]), limit_bytes=60_000)
hits = 0
for _ in range(400):
    number = random.randrange(40)
    key, entry = cache_key("shared", str(number)), CacheEntry(bytes([number]) * 3000, {"number": number})
    found = cache.get(key)
    assert found is None or found == entry, "an entry that nobody stored"
    hits += found is not None
    if found is None:
        cache.put(key, entry)
    if random.random() < 0.01:
        cache.clear()
print(hits)
"""


def test_processes_that_share_a_directory_never_see_a_torn_entry(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROCESS, str(tmp_path), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    for process in processes:
        hits, complaint = process.communicate(timeout=300)
        assert process.returncode == 0, complaint
        assert int(hits) > 0
    assert not list(tmp_path.glob("*/weft-*"))
    assert ObjectCache(tmp_path).size()[1] <= 2 * 60_000
