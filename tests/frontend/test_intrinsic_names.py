import pytest

from weft.frontend.intrinsic_names import FOREIGN_NAMES, Dialect, Query, foreign_name, names_of


@pytest.mark.parametrize(
    ("name", "meaning", "dimension"),
    [
        ("llvm.nvvm.read.ptx.sreg.tid.y", Query.LOCAL_ID, 1),
        ("llvm.nvvm.read.ptx.sreg.nctaid.z", Query.NUM_GROUPS, 2),
        ("llvm.amdgcn.workitem.id.x", Query.LOCAL_ID, 0),
        ("llvm.amdgcn.workgroup.id.x", Query.GROUP_ID, 0),
        ("get_global_id", Query.GLOBAL_ID, None),
        ("_Z13get_global_idj", Query.GLOBAL_ID, None),
        ("_Z12get_work_dimv", Query.GRID_UNIFORM, None),
        ("_Z32__spirv_BuiltInLocalInvocationIdi", Query.LOCAL_ID, None),
        ("_Z27__spirv_LocalInvocationId_zv", Query.LOCAL_ID, 2),
        ("llvm.amdgcn.readfirstlane.i32", Query.LANE_GROUP_UNIFORM, None),
        ("llvm.amdgcn.s.barrier", Query.BARRIER, None),
    ],
)
def test_names_of_other_compilers_have_their_meaning(name, meaning, dimension) -> None:
    found = foreign_name(name)
    assert found is not None
    assert (found.query, found.dimension) == (meaning, dimension)


@pytest.mark.parametrize("name", ["get_local_idx", "llvm.sin.f32", "_Z4tidxv", "workitem.id.x"])
def test_other_functions_have_none(name) -> None:
    assert foreign_name(name) is None


def test_launch_records_point_to_memory_that_does_not_change() -> None:
    pointers = {name for name, row in FOREIGN_NAMES.items() if row.invariant_pointer}
    assert {"llvm.amdgcn.implicitarg.ptr", "llvm.amdgcn.dispatch.ptr"} <= pointers
    assert all(name.endswith(".ptr") for name in pointers)


@pytest.mark.parametrize("dialect", Dialect)
def test_the_table_reads_both_ways(dialect) -> None:
    for meaning in (Query.LOCAL_ID, Query.GROUP_ID):
        for dimension in range(3):
            names = names_of(meaning, dialect, dimension)
            assert names
            assert all(foreign_name(name).query is meaning for name in names)
            assert all(foreign_name(name).dimension in (None, dimension) for name in names)
