; ModuleID = 'symbols.ll'
; Globals, functions, calls, attributes, names and constants that clang's output leaves out.
source_filename = "sym\22bols.ll"
target triple = "x86_64-unknown-linux-gnu"

module asm ".globl marker"
module asm "marker: .asciz \22text\22"

%named = type { i32, %inner, ptr }
%inner = type <{ i8, [3 x i16] }>
%"odd name" = type { <4 x i1>, half }
%hidden = type opaque
%empty = type {}
%0 = type { i64 }

$group = comdat any
$"odd comdat" = comdat largest

@plain = global i32 1
@"odd \22name\22" = internal constant i8 -1, align 1
@0 = private unnamed_addr constant [4 x i8] c"a\00\FF\\", align 1
@1 = private constant [2 x i8] c"\22%", section "here", align 2
@external = external global i32
@weak = extern_weak dso_local global ptr
@hidden = hidden global %0 zeroinitializer
@protected = protected local_unnamed_addr global i1 true
@tls = thread_local(initialexec) global i32 undef, align 4
@dll = dllexport global i32 0
@linked = linkonce_odr global i32 5, comdat($group), align 8
@group = weak_odr constant i32 6, comdat, !attached !0, !other !{!"in place"}
@common = common global [7 x i32] zeroinitializer, align 16
@space = addrspace(3) externally_initialized global [4 x float] poison
@aggregate = global %named { i32 -2147483648, %inner <{ i8 127, [3 x i16] [i16 1, i16 -1, i16 32767] }>, ptr @0 }
@vector = global <4 x float> <float 1.0, float -0.0, float 0x36A0000000000000, float 0x7FF8000000000000>
@splats = global { <4 x i32>, <2 x double>, <8 x i1> } { <4 x i32> splat (i32 7), <2 x double> splat (double 1.000000e+00), <8 x i1> splat (i1 true) }
@halves = global [4 x half] [half 0xH3C00, half 0xHFC00, half 0xH7E01, half 1.5]
@bfloats = global [3 x bfloat] [bfloat 0xR3F80, bfloat 0xRFF80, bfloat 2.0]
@doubles = global [6 x double] [double 1.0e300, double 0x7FF0000000000000, double 0xFFF8000000000001, double 0x0000000000000001, double -1.250000e-01, double 0.1]
@floats = global [4 x float] [float 0x7FF4000000000000, float 0xFFF0000000000000, float 0x3FF19999A0000000, float 0x47EFFFFFE0000000]
@integers = global { i1, i7, i65, i128 } { i1 false, i7 -64, i65 18446744073709551616, i128 -1 }
@hexes = global [2 x i16] [i16 u0xFFFF, i16 s0x80]
@expressions = global [5 x i64] [i64 ptrtoint (ptr @plain to i64), i64 add (i64 ptrtoint (ptr @plain to i64), i64 4), i64 sub (i64 ptrtoint (ptr getelementptr inbounds (i8, ptr @common, i64 8) to i64), i64 ptrtoint (ptr @common to i64)), i64 xor (i64 ptrtoint (ptr @plain to i64), i64 -1), i64 ptrtoint (ptr addrspacecast (ptr addrspace(3) @space to ptr) to i64)]
@addresses = global [4 x ptr] [ptr inttoptr (i64 4096 to ptr), ptr getelementptr inbounds nuw ([7 x i32], ptr @common, i64 0, i64 3), ptr getelementptr nusw (i8, ptr @common, i64 -4), ptr @"odd \22name\22"]
@truncated = global i32 trunc (i64 ptrtoint (ptr @plain to i64) to i32)
@table = global [3 x ptr] [ptr @described, ptr null, ptr @"odd function"]

@second = alias i32, ptr @plain
@third = internal unnamed_addr alias void (), ptr @described

define fastcc void @attributes(ptr noalias noundef readonly align 16 captures(none) dereferenceable_or_null(8) %a, ptr sret({ i32, ptr }) writable dead_on_unwind initializes((0, 4), (8, 16)) "key"="value" "flag" %c, ptr byval(%named) align 8 %b, i8 zeroext range(i8 0, 10) %d, float nofpclass(nan inf) %e, ptr inreg captures(address, read_provenance) %f) local_unnamed_addr alignstack(32) allocsize(3) memory(argmem: readwrite, inaccessiblemem: read) nounwind uwtable(sync) "frame-pointer"="all" "quoted"="a\22b" section "code" comdat($group) align 32 gc "statepoint-example" {
  ret void
}

define dso_local spir_kernel void @described() #0 align 4 !attached !0 !both !1 {
  ret void
}

define void @tail_called(ptr %p) {
  musttail call void %p(ptr %p)
  ret void
}

define internal void @"odd function"(i32 %"odd arg", i32 %"5x", i32 %x.1-y$) #1 {
"odd block":
  %"a b" = add i32 %"odd arg", %"5x"
  %"\01q" = add i32 %"a b", %x.1-y$
  %"caf\C3\A9.not" = icmp eq i32 0, 0
  br label %"odd block.1"

"odd block.1":
  ret void
}

declare i32 @printf(ptr noundef, ...) #2
declare !attached !0 extern_weak void @weak_function() unnamed_addr
declare void @with_names(i32 %first, ptr %second)
declare void @llvm.assume(i1 noundef)
declare float @llvm.experimental.constrained.fadd.f32(float, float, metadata, metadata)
declare i64 @llvm.read_register.i64(metadata)
declare token @llvm.experimental.convergence.entry()
declare range(i32 -4, 5) i32 @ranged()
declare fastcc noundef nonnull align 8 dereferenceable(16) ptr @returned(ptr returned)

define i32 @calls(ptr %f, ptr %p, i1 %c) strictfp {
  %1 = call i32 (ptr, ...) @printf(ptr noundef nonnull @0, i32 signext 1, double 2.0)
  %2 = tail call fastcc noundef range(i32 0, 5) i32 %f(i32 inreg %1, ptr align 4 %p) nounwind "attr"="v"
  %3 = notail call { i32, i1 } %f() #1
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 64), "nonnull"(ptr %p) ]
  call void @llvm.assume(i1 true) #3 [ "cold"() ]
  %4 = call float @llvm.experimental.constrained.fadd.f32(float 1.0, float 2.0, metadata !"round.tonearest", metadata !"fpexcept.strict") #1
  %5 = call i64 @llvm.read_register.i64(metadata !4)
  %6 = call i32 asm sideeffect alignstack inteldialect "mov $0, $1", "=r,r,~{memory}"(i32 3) nounwind, !srcloc !5
  call void asm "nop \22quoted\22", ""()
  %7 = call cc 10 i32 inttoptr (i64 64 to ptr)(i32 1)
  %8 = call nnan contract float %f(float 1.0)
  %9 = call i32 @ranged(), !range !6, !annotation !{!"auto-init"}

  ret i32 %6
}

attributes #0 = { alwaysinline convergent mustprogress nofree norecurse nosync willreturn alignstack=16 allockind("alloc,zeroed") vscale_range(1,16) "a" "b"="c" }
attributes #1 = { strictfp }
attributes #2 = { nobuiltin "no-builtins" }
attributes #3 = { cold }

!names = !{!0, !1, !7}
!odd\20name = !{}

!0 = !{!1, null, !"string with \22quotes\22 and \00", i32 7, ptr @plain, !{!"in", !"place"}}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.vectorize.enable", i1 true}
!4 = !{!"rsp"}
!5 = !{i64 17}
!6 = !{i32 0, i32 4}
!7 = distinct !{!7, !1,
  !2, float 1.000000e+00}
