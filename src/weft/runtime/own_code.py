"""The runtime's own code in LLVM IR: compiled once for a processor, kept in the compile cache, never unloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.runtime.cache import CacheEntry, cache_key, default_cache
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object


def own_code(
    name: str, text: str, symbols: Sequence[str], spec: TargetSpec, imports: Mapping[str, int] | None = None
) -> LoadedCode:
    """Return the module `text` as code that has `symbols`; `name` tells it apart in the cache.

    `imports` are the addresses of those that it takes from other code of ours. The level of `spec` is that of LLVM's
    code generator: 0 takes a fifth of the time of 3, for code that does not run for every call or element.
    """
    cache = default_cache()

    def make() -> CacheEntry:
        return CacheEntry(emit_object(text, spec))

    entry = cache.get_or_make(cache_key("own", name, text, *spec.key), make) if cache else make()
    code = load_object(entry.code, symbols, imports)
    code.keep_forever()
    return code
