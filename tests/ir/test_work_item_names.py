import pytest

from weft.ir.intrinsics import INTRINSICS, IntrinsicKind
from weft.ir.work_item_names import WORK_ITEM_NAMES, Dialect, Meaning, meaning_of, names_of


@pytest.mark.parametrize(
    ("name", "meaning", "dimension"),
    [
        ("llvm.nvvm.read.ptx.sreg.tid.y", Meaning.LOCAL_ID, 1),
        ("llvm.nvvm.read.ptx.sreg.nctaid.z", Meaning.NUM_GROUPS, 2),
        ("llvm.amdgcn.workitem.id.x", Meaning.LOCAL_ID, 0),
        ("llvm.amdgcn.workgroup.id.x", Meaning.GROUP_ID, 0),
        ("get_global_id", Meaning.GLOBAL_ID, None),
        ("_Z13get_global_idj", Meaning.GLOBAL_ID, None),
        ("_Z12get_work_dimv", Meaning.GRID_UNIFORM, None),
        ("_Z32__spirv_BuiltInLocalInvocationIdi", Meaning.LOCAL_ID, None),
        ("_Z27__spirv_LocalInvocationId_zv", Meaning.LOCAL_ID, 2),
        ("llvm.amdgcn.readfirstlane.i32", Meaning.LANES_UNIFORM, None),
        ("llvm.amdgcn.s.barrier", Meaning.BARRIER, None),
    ],
)
def test_names_of_other_compilers_have_their_meaning(name, meaning, dimension) -> None:
    found = meaning_of(name)
    assert found is not None
    assert (found.meaning, found.dimension) == (meaning, dimension)


@pytest.mark.parametrize("name", ["get_local_idx", "llvm.sin.f32", "_Z4tidxv", "workitem.id.x"])
def test_other_functions_have_none(name) -> None:
    assert meaning_of(name) is None


def test_launch_records_point_to_memory_that_does_not_change() -> None:
    pointers = {name for name, row in WORK_ITEM_NAMES.items() if row.invariant_pointer}
    assert {"llvm.amdgcn.implicitarg.ptr", "llvm.amdgcn.dispatch.ptr"} <= pointers
    assert all(name.endswith(".ptr") for name in pointers)


def test_wefts_own_ids_and_sizes_are_all_there() -> None:
    own = {name for name, row in WORK_ITEM_NAMES.items() if row.dialect is Dialect.WEFT}
    kinds = (IntrinsicKind.ID, IntrinsicKind.SIZE)
    # The size of memory is none of a work-item's.
    assert own == {n for n, row in INTRINSICS.items() if row.kind in kinds} - {"weft.shared.dynamic.size"}


@pytest.mark.parametrize("dialect", Dialect)
def test_the_table_reads_both_ways(dialect) -> None:
    for meaning in (Meaning.LOCAL_ID, Meaning.GROUP_ID):
        for dimension in range(3):
            names = names_of(meaning, dialect, dimension)
            assert names
            assert all(meaning_of(name).meaning is meaning for name in names)
            assert all(meaning_of(name).dimension in (None, dimension) for name in names)
