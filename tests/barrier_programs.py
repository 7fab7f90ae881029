"""Programs with barriers that several tests run: the situations of Karrenberg and Hack, Fig. 3 and 4, and around them.

Each is the body of a kernel ``(ptr %p, i32 %n)``. ``IDS`` stands for lines that define ``%tid``, a thread's number in
its work-group, and the addresses ``%at`` of its word, ``%mirror.at`` of the word of its mirror image, and ``%to`` of a
word that nobody else uses.
"""

DECLARATIONS = """
declare void @weft.barrier() convergent
declare i32 @weft.barrier.count(i1) convergent
declare i32 @weft.barrier.and(i1) convergent
declare i32 @weft.barrier.or(i1) convergent
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.num.groups(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
"""

STRAIGHT = """
  IDS
  %own = load i32, ptr %at
  %other = load i32, ptr %mirror.at
  call void @weft.barrier()
  %sum = mul i32 %own, %other
  store i32 %sum, ptr %at
  ret void
"""

LOOP = """
entry:
  IDS
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %exit
body:
  %other = load i32, ptr %mirror.at
  call void @weft.barrier()
  %sum = add i32 %other, %i
  store i32 %sum, ptr %at
  %i.next = add i32 %i, 1
  call void @weft.barrier()
  br label %head
exit:
  ret void
"""

BRANCH = """
entry:
  IDS
  %own = load i32, ptr %at
  %many = icmp sgt i32 %n, 2
  br i1 %many, label %then, label %join
then:
  %seen = load i32, ptr %mirror.at
  call void @weft.barrier()
  %both = mul i32 %own, %seen
  br label %join
join:
  %value = phi i32 [ %own, %entry ], [ %both, %then ]
  store i32 %value, ptr %at
  ret void
"""

NESTED = """
entry:
  IDS
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %outer.latch ]
  %sum = phi i32 [ 0, %entry ], [ %sum.out, %outer.latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %inner, label %exit
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %next ]
  %part = phi i32 [ %sum, %outer ], [ %part.next, %next ]
  %own = load i32, ptr %mirror.at
  call void @weft.barrier()
  %seen = add i32 %own, %j
  %bit = and i32 %j, 1
  %odd = icmp eq i32 %bit, 1
  br i1 %odd, label %next, label %work
work:
  %grown = add i32 %part, %seen
  %stop = icmp sgt i32 %j, %i
  br i1 %stop, label %break, label %next
next:
  %part.next = phi i32 [ %part, %inner ], [ %grown, %work ]
  %j.next = add i32 %j, 1
  %enough = icmp sgt i32 %j.next, 4
  br i1 %enough, label %behind, label %inner
behind:
  call void @weft.barrier()
  br label %outer.latch
break:
  br label %outer.latch
outer.latch:
  %sum.out = phi i32 [ %part.next, %behind ], [ %grown, %break ]
  store i32 %sum.out, ptr %at
  call void @weft.barrier()
  %i.next = add i32 %i, 1
  br label %outer
exit:
  store i32 %sum, ptr %to
  ret void
"""
