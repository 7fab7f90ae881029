"""Explanations: what they say, and that there is one for everything that varies."""

from analysis.analysed import Analysed
from generators.programs import Options, random_program
from weft.analysis.divergence import analyze_divergence
from weft.analysis.explanation.explain import (
    explain_activation,
    explain_branch,
    explain_object,
    explain_value,
    sentence,
)
from weft.ir import BasicBlock, Instruction

# def k(a, idx, out):            1
#     i = cuda.threadIdx.x       2
#     j = idx[i]                 3
#     x = a[j]                   4
#     s = 0                      5
#     if x > 1:                  6
#         s = 1                  7
#     k = 0                      8
#     while k < x:               9
#         k += 1                 10
#     out[i] = s + k             11
KERNEL = """
define void @k(ptr %a, ptr %idx, ptr %out) "weft.kernel" !dbg !3 {
entry:
  %i = call i64 @weft.local.id(i32 0), !dbg !12
    #dbg_value(i64 %i, !20, !DIExpression(), !12)
  %pj = getelementptr i64, ptr %idx, i64 %i, !dbg !13
  %j = load i64, ptr %pj, !dbg !13
    #dbg_value(i64 %j, !21, !DIExpression(), !13)
  %px = getelementptr i64, ptr %a, i64 %j, !dbg !14
  %x = load i64, ptr %px, !dbg !14
    #dbg_value(i64 %x, !22, !DIExpression(), !14)
  %big = icmp sgt i64 %x, 1, !dbg !16
  br i1 %big, label %then, label %join, !dbg !16
then:
  br label %join, !dbg !17
join:
  %s = phi i64 [ 0, %entry ], [ 1, %then ]
    #dbg_value(i64 %s, !23, !DIExpression(), !15)
  br label %head, !dbg !18
head:
  %k = phi i64 [ 0, %join ], [ %k1, %body ]
    #dbg_value(i64 %k, !24, !DIExpression(), !18)
  %go = icmp slt i64 %k, %x, !dbg !19
  br i1 %go, label %body, label %done, !dbg !19
body:
  %k1 = add i64 %k, 1, !dbg !25
  br label %head, !dbg !25
done:
  %sum = add i64 %s, %k, !dbg !26
  %po = getelementptr i64, ptr %out, i64 %i, !dbg !26
  store i64 %sum, ptr %po, !dbg !26
  ret void, !dbg !26
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.py", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, unit: !0, type: !4, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{null}
!6 = !DIBasicType(name: "i64", size: 64, encoding: DW_ATE_signed)
!12 = !DILocation(line: 2, column: 5, scope: !3)
!13 = !DILocation(line: 3, column: 5, scope: !3)
!14 = !DILocation(line: 4, column: 5, scope: !3)
!15 = !DILocation(line: 5, column: 5, scope: !3)
!16 = !DILocation(line: 6, column: 5, scope: !3)
!17 = !DILocation(line: 7, column: 5, scope: !3)
!18 = !DILocation(line: 8, column: 5, scope: !3)
!19 = !DILocation(line: 9, column: 5, scope: !3)
!20 = !DILocalVariable(name: "i", scope: !3, file: !1, line: 2, type: !6)
!21 = !DILocalVariable(name: "j", scope: !3, file: !1, line: 3, type: !6)
!22 = !DILocalVariable(name: "x", scope: !3, file: !1, line: 4, type: !6)
!23 = !DILocalVariable(name: "s", scope: !3, file: !1, line: 5, type: !6)
!24 = !DILocalVariable(name: "k", scope: !3, file: !1, line: 8, type: !6)
!25 = !DILocation(line: 10, column: 5, scope: !3)
!26 = !DILocation(line: 11, column: 5, scope: !3)
"""


def test_a_chain_leads_from_a_join_over_branch_and_loads_to_the_thread_id() -> None:
    a = Analysed(KERNEL, width=8)
    steps = explain_value(a.divergence, a.value("s"))
    assert [step.text for step in steps] == [
        "`s`, line 5 joins values of threads that part at line 6",
        "the branch at line 6 is divergent because of `x`, line 4",
        "`x`, line 4 is loaded at an address that depends on `j`, line 3",
        "`j`, line 3 is loaded at an address that depends on"
        " `i`, the thread's index in its group along x, line 2",
    ]
    assert [step.span.line if step.span else None for step in steps] == [None, 6, 4, 3]
    assert sentence(steps).startswith("`s`, line 5 joins")


def test_a_value_of_a_divergent_loop_is_explained_by_the_branch_that_leaves_it() -> None:
    a = Analysed(KERNEL, width=8)
    assert a.is_uniform("k")
    # `sum` varies because of `s` as well; nearer to a source is what is shown.
    alone = Analysed(KERNEL.replace("add i64 %s, %k", "add i64 0, %k"), width=8)
    steps = explain_value(alone.divergence, alone.value("sum"))
    assert steps[0].text == (
        "what is computed, line 11 is computed from `k`, line 8, of a loop that threads leave at line 9"
        " in different iterations"
    )
    assert steps[1].text == "the branch at line 9 is divergent because of `x`, line 4"


def test_uniform_things_need_no_explanation() -> None:
    a = Analysed(KERNEL, width=8)
    assert explain_value(a.divergence, a.value("k")) == ()
    assert explain_branch(a.divergence, a.block("join")) == ()
    assert explain_activation(a.divergence, a.block("entry")) == ()
    assert len(explain_activation(a.divergence, a.block("then"))) == 3


def has_explanation(divergence, subject: Instruction | BasicBlock) -> bool:
    explain = explain_branch if isinstance(subject, BasicBlock) else explain_value
    return bool(explain(divergence, subject))


def test_everything_that_varies_in_random_programs_has_an_explanation() -> None:
    explained = 0
    for seed in range(150):
        module = random_program(seed, Options(horizontal=seed % 2 == 0, atomics=seed % 3 == 0))
        divergence = analyze_divergence(module.functions["kernel"], width=8)
        for block in divergence.function.blocks:
            for value in block.instructions:
                shape = divergence.shape(value)
                if not value.type.is_void and not shape.is_uniform:
                    explained += 1
                    assert has_explanation(divergence, value), f"seed {seed}: {value!r}"
            if divergence.is_divergent_branch(block):
                assert has_explanation(divergence, block), f"seed {seed}: branch of {block!r}"
            if divergence.has_varying_predicate(block):
                assert explain_activation(divergence, block), f"seed {seed}: activation of {block!r}"
        for site in divergence.stack_objects:
            assert divergence.is_uniform_object(site) or explain_object(divergence, site), f"seed {seed}"
    assert explained > 1000
