; The heap of compiled functions; weft/ir/heap.py explains it.
;
; A block is { ptr next, i64 size, i64 kept, ptr raw } in the 64 bytes before its data; `raw` is what malloc gave.

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
${DECLARE_ADVISE}
declare ptr @weft_context()
@weft_interrupt = external global i32
declare void @weft_poll() cold
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define i64 @weft_heap_bytes(i64 %a, i64 %b) {
  %both = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 %b)
  %product = extractvalue { i64, i1 } %both, 0
  %wrapped = extractvalue { i64, i1 } %both, 1
  %result = select i1 %wrapped, i64 -1, i64 %product
  ret i64 %result
}

define void @weft_heap_enter(ptr %frame) {
entry:
  %error = getelementptr i64, ptr %frame, i64 1
  store ptr null, ptr %frame
  store i64 0, ptr %error
  %context = call ptr @weft_context()
  %none = icmp eq ptr %context, null
  br i1 %none, label %done, label %link
link:
  %frames = getelementptr i8, ptr %context, i64 ${FRAMES}
  %around = load ptr, ptr %frames
  %around.at = getelementptr i64, ptr %frame, i64 2
  store ptr %around, ptr %around.at
  store ptr %frame, ptr %frames
  br label %done
done:
  ret void
}

define ptr @weft_heap_mark(ptr %frame) {
  %head = load ptr, ptr %frame
  ret ptr %head
}

define i64 @weft_heap_error(ptr %frame) {
  %at = getelementptr i64, ptr %frame, i64 1
  %error = load atomic i64, ptr %at monotonic, align 8
  ret i64 %error
}

; Of errors in several threads the greatest stays, whatever their order.
define void @weft_heap_fail(ptr %frame, i64 %error) {
  %at = getelementptr i64, ptr %frame, i64 1
  %before = atomicrmw umax ptr %at, i64 %error monotonic, align 8
  ret void
}

define ptr @weft_heap_allocate(ptr %frame, i64 %size, i64 %zero) {
entry:
  ; A loop that makes arrays is mostly here.
  %flag = load atomic i32, ptr @weft_interrupt monotonic, align 4
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %begin, label %look
look:
  call void @weft_poll()
  br label %begin
begin:
  %possible = icmp ult i64 %size, 4611686018427387904
  br i1 %possible, label %get, label %none
get:
  %total = add i64 %size, 128
  %zeroed = icmp ne i64 %zero, 0
  br i1 %zeroed, label %clear, label %plain
clear:
  %cleared = call ptr @calloc(i64 1, i64 %total)
  br label %got
plain:
  %left = call ptr @malloc(i64 %total)
  br label %got
got:
  %raw = phi ptr [ %cleared, %clear ], [ %left, %plain ]
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %link
link:
  %number = ptrtoint ptr %raw to i64
  %above = add i64 %number, 127
  %aligned = and i64 %above, -64
  %distance = sub i64 %aligned, %number
  %data = getelementptr i8, ptr %raw, i64 %distance
  %block = getelementptr i8, ptr %data, i64 -64
  %head = load ptr, ptr %frame
  store ptr %head, ptr %block
  %size.at = getelementptr i64, ptr %block, i64 1
  store i64 %size, ptr %size.at
  %kept.at = getelementptr i64, ptr %block, i64 2
  store i64 0, ptr %kept.at
  %raw.at = getelementptr i64, ptr %block, i64 3
  store ptr %raw, ptr %raw.at
  store ptr %block, ptr %frame
  %large = icmp uge i64 %size, ${LARGE}
  br i1 %large, label %advise, label %made
advise:
  ; The huge pages that lie in it as a whole: a fault each, if the system wants.
  %data.at = ptrtoint ptr %data to i64
  %huge.above = add i64 %data.at, 2097151
  %huge = and i64 %huge.above, -2097152
  %behind = add i64 %data.at, %size
  %end = and i64 %behind, -2097152
  %bytes = sub i64 %end, %huge
  %huge.ptr = inttoptr i64 %huge to ptr
  ${ADVISE}
  br label %made
made:
  ret ptr %data
none:
  ret ptr null
}

; The end of a block is in it too: a view of no elements may begin there.
define void @weft_heap_keep(ptr %frame, ptr %mark, ptr %pointer) {
entry:
  %first = load ptr, ptr %frame
  br label %look
look:
  %block = phi ptr [ %first, %entry ], [ %next, %miss ]
  %last = icmp eq ptr %block, null
  %old = icmp eq ptr %block, %mark
  %over = or i1 %last, %old
  br i1 %over, label %done, label %test
test:
  %place = ptrtoint ptr %pointer to i64
  %header = ptrtoint ptr %block to i64
  %begin = add i64 %header, 64
  %offset = sub i64 %place, %begin
  %size.at = getelementptr i64, ptr %block, i64 1
  %size = load i64, ptr %size.at
  %inside = icmp ule i64 %offset, %size
  br i1 %inside, label %hit, label %miss
hit:
  %kept.at = getelementptr i64, ptr %block, i64 2
  store i64 1, ptr %kept.at
  br label %done
miss:
  %next = load ptr, ptr %block
  br label %look
done:
  ret void
}

define void @weft_heap_sweep(ptr %frame, ptr %mark) {
entry:
  br label %look
look:
  %place = phi ptr [ %frame, %entry ], [ %block, %stay ], [ %place, %go ]
  %block = load ptr, ptr %place
  %last = icmp eq ptr %block, null
  %old = icmp eq ptr %block, %mark
  %over = or i1 %last, %old
  br i1 %over, label %done, label %test
test:
  %kept.at = getelementptr i64, ptr %block, i64 2
  %kept = load i64, ptr %kept.at
  %keep = icmp ne i64 %kept, 0
  br i1 %keep, label %stay, label %go
stay:
  store i64 0, ptr %kept.at
  br label %look
go:
  %next = load ptr, ptr %block
  store ptr %next, ptr %place
  %raw.at = getelementptr i64, ptr %block, i64 3
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  br label %look
done:
  ret void
}

; Free all blocks of a frame and those around it, which nobody will leave any more.
define void @weft_heap_abandon(ptr %frame) {
entry:
  br label %next
next:
  %at = phi ptr [ %frame, %entry ], [ %around, %free ]
  %last = icmp eq ptr %at, null
  br i1 %last, label %done, label %free
free:
  ; Twice, as those that are kept survive once.
  call void @weft_heap_sweep(ptr %at, ptr null)
  call void @weft_heap_sweep(ptr %at, ptr null)
  %around.at = getelementptr i64, ptr %at, i64 2
  %around = load ptr, ptr %around.at
  br label %next
done:
  ret void
}

define void @weft_heap_leave(ptr %frame, ptr %parent) {
entry:
  %context = call ptr @weft_context()
  %none = icmp eq ptr %context, null
  br i1 %none, label %settle, label %unlink
unlink:
  %frames = getelementptr i8, ptr %context, i64 ${FRAMES}
  %around.at = getelementptr i64, ptr %frame, i64 2
  %around = load ptr, ptr %around.at
  store ptr %around, ptr %frames
  br label %settle
settle:
  call void @weft_heap_sweep(ptr %frame, ptr null)
  %first = load ptr, ptr %frame
  br label %look
look:
  %block = phi ptr [ %first, %settle ], [ %next, %move ]
  %last = icmp eq ptr %block, null
  br i1 %last, label %moved, label %move
move:
  %next = load ptr, ptr %block
  %head = load ptr, ptr %parent
  store ptr %head, ptr %block
  store ptr %block, ptr %parent
  br label %look
moved:
  %error = call i64 @weft_heap_error(ptr %frame)
  %failed = icmp ne i64 %error, 0
  br i1 %failed, label %tell, label %done
tell:
  call void @weft_heap_fail(ptr %parent, i64 %error)
  br label %done
done:
  ret void
}
