"""The SIMD instruction sets that code is generated for, as data.

A level bundles the features that come together in practice and that code generation relies on; LLVM's names
of the microarchitecture levels (x86-64-v2, -v3, -v4) are the processors to compile for when the code is not
for the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from msgspec import Struct
from msgspec.structs import replace

from weft.machine.cores import ANY_CORE, Core, core_of


class Isa(Struct, frozen=True):
    """One instruction set level.

    Parameters
    ----------
    name
        What users read and write.
    arch
        The architecture, as LLVM's triples begin.
    cpu
        LLVM's name of the least processor that has the level.
    vector_bits, vector_registers
        Width and number of the vector registers.
    mask_registers
        Registers that hold one bit a lane; 0 where masks live in vector registers, a full element a lane.
    features
        LLVM's names of the features that make up the level.
    masked_memory, gather, scatter
        Whether loads and stores under a mask, gathers and scatters are single instructions, at least of elements of 32
        and of 64 bits.
    core
        What is known of the core that code is for.
    permutes_bytes
        Whether one instruction picks bytes of two registers of 512 bits (VBMI).
    """

    name: str
    arch: str
    cpu: str
    vector_bits: int
    vector_registers: int
    mask_registers: int
    features: frozenset[str]
    masked_memory: bool
    gather: bool
    scatter: bool
    core: Core = ANY_CORE
    permutes_bytes: bool = False

    def lanes(self, element_bits: int) -> int:
        """Return how many elements one register holds, at least one."""
        return max(1, self.vector_bits // element_bits)

    def masks_memory(self, element_bits: int) -> bool:
        """Return whether there are loads and stores of such elements under a mask."""
        return self.masked_memory and (self.mask_registers > 0 or element_bits >= 32)

    @property
    def mask_lanes(self) -> int:
        """Lanes of the longest mask that LLVM carries from block to block as a vector, not lane by lane."""
        return max(64, self.vector_bits // 8) if self.mask_registers else self.vector_bits // 8

    @property
    def shuffles_bytes(self) -> bool:
        """Whether one instruction picks bytes of 16 in each part of a register."""
        return "ssse3" in self.features

    @property
    def has_least_of_unsigned(self) -> bool:
        """Whether one instruction finds the least of two unsigned numbers of 32 bits in each lane."""
        return "sse4.1" in self.features or "neon" in self.features

    @property
    def divides_as_floats(self) -> bool:
        """Whether lanes of integers are divided faster as floats: two doubles at a time are no faster than one."""
        return self.vector_bits >= 256

    @property
    def gathers_words(self) -> bool:
        """Whether bytes are gathered faster as parts of words, for lack of an instruction."""
        return (
            self.arch == "x86_64" and self.gather and self.mask_registers > 0 and not self.core.slow_gathers
        )

    @property
    def feature_string(self) -> str:
        """The features as LLVM's target machine takes them."""
        return ",".join(f"+{feature}" for feature in sorted(self.features))


class Machine(Struct, frozen=True):
    """A processor, and what code for it may use.

    Parameters
    ----------
    arch
        The architecture, as LLVM's triples begin.
    cpu
        LLVM's name of the processor.
    features
        LLVM's names of its features; of the host's, those that the operating system supports, too.
    isa
        The best instruction set level among them.
    lacking
        LLVM's names of features that its processors have otherwise.
    """

    arch: str
    cpu: str
    features: frozenset[str]
    isa: Isa
    lacking: frozenset[str] = frozenset()


_SSE2 = frozenset({"sse", "sse2"})
_SSE4 = _SSE2 | {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"}
_AVX2 = _SSE4 | {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt"}
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

SCALAR = Isa("scalar", "", "generic", 64, 32, 0, frozenset(), False, False, False)
SSE2 = Isa("sse2", "x86_64", "x86-64", 128, 16, 0, _SSE2, False, False, False)
SSE4 = Isa("sse4", "x86_64", "x86-64-v2", 128, 16, 0, _SSE4, False, False, False)
AVX2 = Isa("avx2", "x86_64", "x86-64-v3", 256, 16, 0, _AVX2, True, True, False)
# Eight mask registers, of which k0 cannot be named as a write mask.
AVX512 = Isa("avx512", "x86_64", "x86-64-v4", 512, 32, 7, _AVX512, True, True, True)
NEON = Isa("neon", "aarch64", "generic", 128, 32, 0, frozenset({"neon"}), False, False, False)

ISAS = (AVX512, AVX2, SSE4, SSE2, NEON)
"""The levels, the best of each architecture first; `SCALAR` is what is left for other architectures."""


def isa_named(name: str) -> Isa:
    """Return the level with the name.

    Raises
    ------
    KeyError
        No level has it.
    """
    for isa in (*ISAS, SCALAR):
        if isa.name == name:
            return isa
    raise KeyError(name)


ALWAYS = {"x86_64": _SSE2, "aarch64": NEON.features}
"""What each processor of an architecture has, though the system may not say so: an emulator has no list of features."""


def best_isa(arch: str, features: Set[str], cpu: str = "") -> Isa:
    """Return the best level whose features a processor of the architecture has all, for the core of that name."""
    for isa in ISAS:
        if isa.arch == arch and isa.features <= features | ALWAYS[arch]:
            core, permutes = core_of(cpu), isa.vector_bits == 512 and "avx512vbmi" in features
            return (
                isa if core == isa.core and not permutes else replace(isa, core=core, permutes_bytes=permutes)
            )
    return SCALAR


def machine_of(arch: str, name: str) -> Machine | None:
    """Return the least processor of the level that has LLVM's, or weft's, name; None for a name of no level."""
    for isa in ISAS:
        if isa.arch == arch and name in (isa.cpu, isa.name):
            return Machine(arch, isa.cpu, isa.features, isa)
    return None


def without(machine: Machine, lacking: Iterable[str]) -> Machine:
    """Return the processor without some features, at the best level that is left."""
    gone = frozenset(lacking) - ALWAYS.get(machine.arch, frozenset())
    # LLVM takes away what rests on these, too.
    if gone & AVX512.features:
        gone |= {name for name in machine.features if name.startswith("avx512")}
    features = machine.features - gone
    return Machine(machine.arch, machine.cpu, features, best_isa(machine.arch, features, machine.cpu), gone)


def misses(machine: Machine, other: Machine) -> tuple[str, ...]:
    """Return the features of another machine that code for it may use, and this one has not."""
    if machine.arch != other.arch:
        return (other.arch,)
    return tuple(sorted(other.features - machine.features))
