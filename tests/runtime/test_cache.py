import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.diag.errors import SettingError
from weft.runtime.cache import CacheEntry, ObjectCache, cache_key, default_cache

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
        hits, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint
        assert int(hits) > 0
    assert not list(tmp_path.glob("*/weft-*"))
    assert ObjectCache(tmp_path).size()[1] <= 2 * 60_000
