"""Programs of any size to time analyses on: a kernel's usual mix, repeated."""

from __future__ import annotations

from weft.ir import Function
from weft.ir.reader import read_module

_HEAD = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
define void @program(ptr align 4 %a, ptr align 4 %b, i64 %n, i64 %m) "weft.kernel" {
entry:
  %lid = call i64 @weft.local.id(i32 0)
  %gid = call i64 @weft.group.id(i32 0)
  %first = mul nsw i64 %gid, 64
  %i = add nsw i64 %first, %lid
  br label %unit.0
"""

# A guarded access, an inner loop that lanes leave in different iterations, a uniform loop, a branch with two arms.
_UNIT = """
unit.{k}:
  %v.{k} = phi i64 [ {value}, %{before} ]
  %j.{k} = add nsw i64 %i, {k}
  %in.{k} = icmp slt i64 %j.{k}, %n
  br i1 %in.{k}, label %body.{k}, label %join.{k}
body.{k}:
  %p.{k} = getelementptr inbounds float, ptr %a, i64 %j.{k}
  %x.{k} = load float, ptr %p.{k}, align 4
  %c.{k} = fcmp olt float %x.{k}, 1.0
  br i1 %c.{k}, label %then.{k}, label %else.{k}
then.{k}:
  %s.{k} = shl nsw i64 %j.{k}, 1
  %q.{k} = getelementptr inbounds i8, ptr %b, i64 %s.{k}
  store i8 1, ptr %q.{k}, align 1
  br label %while.{k}
else.{k}:
  %t.{k} = and i64 %v.{k}, 1023
  %g.{k} = getelementptr inbounds float, ptr %b, i64 %t.{k}
  %y.{k} = load float, ptr %g.{k}, align 4
  %z.{k} = fadd float %y.{k}, %x.{k}
  store float %z.{k}, ptr %p.{k}, align 4
  br label %while.{k}
while.{k}:
  %w.{k} = phi i64 [ 0, %then.{k} ], [ 1, %else.{k} ], [ %w1.{k}, %more.{k} ]
  %wc.{k} = icmp slt i64 %w.{k}, %v.{k}
  br i1 %wc.{k}, label %more.{k}, label %left.{k}
more.{k}:
  %w1.{k} = add nsw i64 %w.{k}, 3
  %wx.{k} = xor i64 %w1.{k}, %m
  %wd.{k} = icmp eq i64 %wx.{k}, 77
  br i1 %wd.{k}, label %left.{k}, label %while.{k}
left.{k}:
  %l.{k} = phi i64 [ %w.{k}, %while.{k} ], [ %wx.{k}, %more.{k} ]
  br label %join.{k}
join.{k}:
  %r.{k} = phi i64 [ %v.{k}, %unit.{k} ], [ %l.{k}, %left.{k} ]
  br label %for.{k}
for.{k}:
  %f.{k} = phi i64 [ 0, %join.{k} ], [ %f1.{k}, %for.{k} ]
  %o.{k} = mul nsw i64 %f.{k}, %m
  %e.{k} = add nsw i64 %o.{k}, %i
  %d.{k} = getelementptr inbounds float, ptr %a, i64 %e.{k}
  %h.{k} = load float, ptr %d.{k}, align 4
  %f1.{k} = add nuw nsw i64 %f.{k}, 1
  %fc.{k} = icmp slt i64 %f1.{k}, %m
  br i1 %fc.{k}, label %for.{k}, label %end.{k}
end.{k}:
  %u.{k} = add i64 %r.{k}, 5
  br label %{after}
"""
_UNIT_SIZE = _UNIT.count("\n  ")


def program(instructions: int) -> Function:
    """A kernel with about so many instructions."""
    units = max(1, round(instructions / _UNIT_SIZE))
    parts = [_HEAD]
    parts += [
        _UNIT.format(
            k=k,
            value=f"%u.{k - 1}" if k else "%m",
            before=f"end.{k - 1}" if k else "entry",
            after=f"unit.{k + 1}" if k + 1 < units else "last",
        )
        for k in range(units)
    ]
    parts.append("last:\n  ret void\n}\n")
    return read_module("".join(parts)).functions["program"]
