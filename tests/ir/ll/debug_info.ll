; Debug records and locations of every kind.
source_filename = "debug_info.ll"
target triple = "x86_64-unknown-linux-gnu"

define i32 @work(i32 %a, ptr %p) !dbg !4 {
entry:
    #dbg_value(i32 %a, !9, !DIExpression(), !12)
    #dbg_declare(ptr %p, !10, !DIExpression(DW_OP_deref, DW_OP_LLVM_fragment, 0, 32), !12)
    #dbg_value(!DIArgList(i32 %a, i32 %late), !11, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !13)
  %slot = alloca i32, align 4, !DIAssignID !20
    #dbg_assign(i1 poison, !9, !DIExpression(), !20, ptr %slot, !DIExpression(DW_OP_plus_uconst, 4), !12)
  %late = add i32 %a, 1, !dbg !13
    #dbg_value(i32 poison, !11, !DIExpression(DW_OP_LLVM_convert, 32, DW_ATE_signed, DW_OP_LLVM_convert, 64, DW_ATE_signed), !13)
    #dbg_value(!21, !11, !DIExpression(), !14)
    #dbg_label(!15, !12)
  store i32 %late, ptr %slot, align 4, !dbg !14, !DIAssignID !20
  %inlined = load i32, ptr %slot, align 4, !dbg !16
  br label %loop, !dbg !DILocation(line: 9, column: 1, scope: !4)

loop:
  %i = phi i32 [ 0, %entry ], [ %n, %loop ]
    #dbg_value(i32 %i, !11, !DIExpression(), !13)
  %n = add nuw i32 %i, 1, !dbg !17
  %c = icmp eq i32 %n, %inlined, !dbg !18
  br i1 %c, label %done, label %loop, !dbg !12, !llvm.loop !19

done:
  ret i32 %n, !dbg !12
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1, !2}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !3, producer: "weft \22quoted\22", isOptimized: true, flags: "-O2", runtimeVersion: 0, emissionKind: FullDebug, globals: !{}, splitDebugInlining: false)
!1 = !{i32 7, !"Dwarf Version", i32 5}
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIFile(filename: "k.py", directory: "/home/user", checksumkind: CSK_MD5, checksum: "2d33c23173a3e471b283de890619c38d")
!4 = distinct !DISubprogram(name: "work", linkageName: "work", scope: !3, file: !3, line: 4, type: !5, scopeLine: 4, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !8, keyInstructions: true)
!5 = !DISubroutineType(types: !6)
!6 = !{!7, !7, null}
!7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!8 = !{!9, !10, !11, !15}
!9 = !DILocalVariable(name: "a", arg: 1, scope: !4, file: !3, line: 4, type: !7)
!10 = !DILocalVariable(name: "p", arg: 2, scope: !4, file: !3, line: 4, type: !22, flags: DIFlagArtificial)
!11 = !DILocalVariable(name: "i", scope: !23, file: !3, line: 5, type: !7, align: 32)
!12 = !DILocation(line: 0, scope: !4)
!13 = !DILocation(line: 5, column: 3, scope: !23, atomGroup: 2, atomRank: 1)
!14 = distinct !DILocation(line: 6, scope: !23)
!15 = !DILabel(scope: !4, name: "again", file: !3, line: 7)
!16 = !DILocation(line: 30, column: 8, scope: !24, inlinedAt: !14)
!17 = !DILocation(line: 31, column: 9, scope: !24, inlinedAt: !25)
!18 = !DILocation(line: 8, scope: !23, isImplicitCode: true)
!19 = distinct !{!19, !13, !26}
!20 = distinct !DIAssignID()
!21 = !{}
!22 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !7, size: 64, extraData: i32 3)
!23 = distinct !DILexicalBlock(scope: !4, file: !3, line: 5, column: 1)
!24 = distinct !DISubprogram(name: "inner", scope: !3, file: !3, line: 30, type: !5, spFlags: DISPFlagDefinition, unit: !0)
!25 = !DILocation(line: 33, scope: !24, inlinedAt: !16)
!26 = !{!"llvm.loop.mustprogress"}
