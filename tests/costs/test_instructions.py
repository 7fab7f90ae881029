import pytest

from weft.costs.instructions import INSTRUCTION_COSTS, UNKNOWN, instruction_cost, memory_cost
from weft.ir.opcodes import OPCODES
from weft.machine.processors import processor
from weft.machine.targets import AVX2, AVX512, ISAS


def test_every_opcode_has_a_cost_of_its_own_kind() -> None:
    unpriced = set(OPCODES) - set(INSTRUCTION_COSTS) - {"load", "store", "call"}
    assert not unpriced


def test_cost_grows_with_the_registers_that_the_lanes_fill() -> None:
    one, four = (instruction_cost("fadd", 32, lanes, AVX512).cycles for lanes in (16, 64))
    assert four == 4 * one
    assert instruction_cost("fadd", 32, 16, AVX2).cycles == 2 * one
    assert instruction_cost("fadd", 32, 64, AVX512).latency == instruction_cost("fadd", 32, 1, AVX512).latency


def test_what_has_no_vector_form_costs_more_than_as_many_scalars() -> None:
    scalar = instruction_cost("sdiv", 64, 1, AVX512)
    assert instruction_cost("sdiv", 64, 16, AVX512).cycles > 16 * scalar.cycles
    assert instruction_cost("sdiv", 32, 16, AVX512).cycles < 8 * scalar.cycles
    assert instruction_cost("no such opcode", 32, 1, AVX512).cycles == UNKNOWN.cycles


def test_what_is_only_said_to_the_compiler_is_free() -> None:
    for name in ("llvm.lifetime", "llvm.assume"):
        assert instruction_cost(name, 32, 16, AVX2).cycles == 0


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("op", ["load", "store"])
def test_uniform_access_is_no_dearer_than_contiguous_and_that_cheaper_than_random(op, isa) -> None:
    lanes = isa.lanes(32)
    uniform, contiguous, random = (
        memory_cost(op, form, 32, lanes, isa).cycles for form in ("uniform", "contiguous", "random")
    )
    assert uniform <= contiguous < random


@pytest.mark.parametrize("cpu", ["skylake", "icelake-server"])
def test_gathers_cost_what_they_become_on_cores_where_they_are_slow(cpu: str) -> None:
    """Up to so many lanes they are loads one by one, of more they stay (`weft.target.rewrites.lone_loads`)."""
    machine = processor("x86_64", cpu)
    assert machine is not None and machine.isa.core.slow_gathers
    few, many = (memory_cost("load", "gather", 64, lanes, machine.isa).cycles for lanes in (32, 64))
    assert many > 4 * few
    level = next(isa for isa in ISAS if isa.name == machine.isa.name)
    assert few <= memory_cost("load", "gather", 64, 32, level).cycles
    assert many > memory_cost("load", "gather", 64, 64, level).cycles
    # What is stored is scattered as elsewhere.
    assert memory_cost("store", "gather", 64, 64, machine.isa) == memory_cost(
        "store", "gather", 64, 64, level
    )
