"""The kernels of Sampaio et al. in LLVM IR, with the paper's names for variables.

``int`` arithmetic in C does not overflow, so it has ``nsw``. Where the paper has a variable for a constant (d₀), it is
the sum of it and zero, to have a name.
"""

from weft.ir import Function, Value
from weft.ir.reader import read_module

_HEAD = "declare i64 @weft.local.id(i32)\n"

AVG_SQUARE = """
define ptx_kernel void @avgSquare(ptr %m, ptr %v, i32 %c) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %tid = trunc i64 %id to i32
  %inside = icmp slt i32 %tid, %c
  br i1 %inside, label %before, label %end
before:
  %d0 = add i32 0, 0
  %cc = mul nsw i32 %c, %c
  %N = add nsw i32 %tid, %cc
  br label %loop
loop:
  %i = phi i32 [ %tid, %before ], [ %i2, %body ]
  %s1 = phi float [ 0.0, %before ], [ %s2, %body ]
  %d1 = phi i32 [ %d0, %before ], [ %d2, %body ]
  %p = icmp slt i32 %i, %N
  br i1 %p, label %body, label %after
body:
  %x = sext i32 %i to i64
  %mi = getelementptr float, ptr %m, i64 %x
  %e = load float, ptr %mi
  %s2 = fadd float %s1, %e
  %d2 = add nsw i32 %d1, 1
  %i2 = add nsw i32 %i, %c
  br label %loop
after:
  %df = sitofp i32 %d1 to float
  %q = fdiv float %s1, %df
  %vt = getelementptr float, ptr %v, i32 %tid
  store float %q, ptr %vt
  br label %end
end:
  ret void
}
"""

SUM_TRIANGLE = """
define ptx_kernel void @sumTriangle(ptr %m, ptr %v, i32 %c) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %i0 = trunc i64 %id to i32
  %inside = icmp slt i32 %i0, %c
  br i1 %inside, label %l0, label %end
l0:
  %d0 = add i32 0, 0
  %t0 = add nsw i32 %i0, 1
  %L0 = mul nsw i32 %t0, %c
  br label %l5
l5:
  %i1 = phi i32 [ %i0, %l0 ], [ %i2, %l12 ]
  %s1 = phi float [ 0.0, %l0 ], [ %s3, %l12 ]
  %d1 = phi i32 [ %d0, %l0 ], [ %d2, %l12 ]
  %p0 = icmp slt i32 %i1, %L0
  br i1 %p0, label %l8, label %l16
l8:
  %r = srem i32 %d1, 2
  %p1 = icmp ne i32 %r, 0
  br i1 %p1, label %l10, label %l12
l10:
  %x = sext i32 %i1 to i64
  %mi = getelementptr float, ptr %m, i64 %x
  %t1 = load float, ptr %mi
  %s2 = fadd float %s1, %t1
  br label %l12
l12:
  %s3 = phi float [ %s2, %l10 ], [ %s1, %l8 ]
  %d2 = add nsw i32 %d1, 1
  %i2 = add nsw i32 %i1, %c
  br label %l5
l16:
  %t2 = sub nsw i32 %d1, 1
  %y = sext i32 %t2 to i64
  %vd = getelementptr float, ptr %v, i64 %y
  store float %s1, ptr %vd
  br label %end
end:
  ret void
}
"""

ROWS = """
define ptx_kernel void @s(ptr %m, i32 %n) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %tid = trunc i64 %id to i32
  %i0 = mul nsw i32 %n, %tid
  %t = add nsw i32 %tid, 1
  %k = mul nsw i32 %t, %n
  br label %loop
loop:
  %i1 = phi i32 [ %i0, %entry ], [ %i2, %body ]
  %p = icmp slt i32 %i1, %k
  br i1 %p, label %body, label %end
body:
  %x = sext i32 %i1 to i64
  %mi = getelementptr i32, ptr %m, i64 %x
  store i32 1, ptr %mi
  %i2 = add nsw i32 %i1, 1
  br label %loop
end:
  ret void
}
"""


def kernel(text: str) -> Function:
    """The kernel of a text."""
    return next(iter(read_module(_HEAD + text).definitions()))


def value(function: Function, name: str) -> Value:
    """The argument or result of that name."""
    return next(v for v in (*function.args, *function.instructions()) if v.name == name)
