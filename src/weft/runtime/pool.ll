; The thread pool; weft/runtime/pool_ir.py explains it, and fills in what stands in braces.

declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

@weft_interrupt = external global i32
declare void @weft_poll() cold
declare ptr @weft_context()
declare void @weft_context_make(ptr, ptr, ptr)
declare i32 @weft_guard(ptr, ptr, ptr, ptr, i32)
declare i32 @weft_look(ptr)
declare void @weft_unwind(ptr) noreturn
declare void @weft_rouse()
declare void @weft_interrupt_join()

${declare_pause}

; How long a caller sleeps at most until it looks whether it is interrupted.
@watch = internal constant [2 x i64] [i64 0, i64 ${WATCH_NS}]

define internal i64 @now(ptr %spec) {
  %failed = call i32 @clock_gettime(i32 1, ptr %spec)
  %seconds = load i64, ptr %spec, align 8
  %rest.at = getelementptr i8, ptr %spec, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000000000
  %ns = add i64 %whole, %rest
  ret i64 %ns
}

define internal void @sleep(ptr %word, i32 %expected) noinline {
  %r = call i64 (i64, ...) @syscall(i64 ${futex}, ptr %word, i32 128, i32 %expected, ptr null, ptr null, i32 0)
  ret void
}

define internal void @doze(ptr %word, i32 %expected) noinline {
  %r = call i64 (i64, ...) @syscall(i64 ${futex}, ptr %word, i32 128, i32 %expected, ptr @watch, ptr null, i32 0)
  ret void
}

define internal void @wake(ptr %word, i32 %count) noinline {
  %r = call i64 (i64, ...) @syscall(i64 ${futex}, ptr %word, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}

; Waking is slow and one at a time, so each who is woken wakes two more where as many are wanted.
define internal void @wake_workers(ptr %pool, i32 %wanted) {
entry:
  %some = icmp sgt i32 %wanted, 0
  br i1 %some, label %look, label %done
look:
  %sleepers.at = getelementptr i8, ptr %pool, i64 ${SLEEPERS}
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %asleep = icmp sgt i32 %sleepers, 0
  br i1 %asleep, label %call, label %done
call:
  %one = icmp eq i32 %wanted, 1
  %count = select i1 %one, i32 1, i32 2
  %epoch = getelementptr i8, ptr %pool, i64 ${EPOCH}
  call void @wake(ptr %epoch, i32 %count)
  br label %done
done:
  ret void
}

; Spin while the word holds the value; true if it still does when the time is up.
define internal i1 @spin(ptr %word, i32 %value, i64 %limit, ptr %spec) {
entry:
  %start = call i64 @now(ptr %spec)
  br label %again
again:
  %k = phi i32 [ 0, %entry ], [ %k.next, %pause ], [ 0, %clock ]
  %current = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %current, %value
  br i1 %same, label %pause, label %changed
pause:
  ${pause}
  %k.next = add i32 %k, 1
  %check = icmp eq i32 %k.next, 16
  br i1 %check, label %clock, label %again
clock:
  %time = call i64 @now(ptr %spec)
  %elapsed = sub i64 %time, %start
  %over = icmp sge i64 %elapsed, %limit
  br i1 %over, label %expired, label %again
expired:
  ret i1 true
changed:
  ret i1 false
}

; Between runs.
define internal void @poll() {
entry:
  %flag = load atomic i32, ptr @weft_interrupt monotonic, align 4
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %on, label %look
look:
  call void @weft_poll()
  br label %on
on:
  ret void
}

; Run all groups of a job on this thread.
define internal i32 @run_alone(ptr %job, ptr %spec) {
entry:
  %ctx.at = getelementptr ptr, ptr %job, i64 1
  %groups.at = getelementptr i64, ptr %job, i64 2
  %chunk.at = getelementptr i64, ptr %job, i64 4
  %fn = load ptr, ptr %job, align 8
  %ctx = load ptr, ptr %ctx.at, align 8
  %groups = load i64, ptr %groups.at, align 8
  %chunk = load i64, ptr %chunk.at, align 8
  %start = call i64 @now(ptr %spec)
  br label %run
run:
  %begin = phi i64 [ 0, %entry ], [ %end, %next ]
  %wish = phi i64 [ %chunk, %entry ], [ %ideal, %next ]
  %since = phi i64 [ %start, %entry ], [ %time, %next ]
  %partial = urem i64 %wish, %chunk
  %rounded = sub i64 %wish, %partial
  %length = call i64 @llvm.umax.i64(i64 %rounded, i64 %chunk)
  %past = add i64 %begin, %length
  %end = call i64 @llvm.smin.i64(i64 %past, i64 %groups)
  %result = call i32 %fn(ptr %ctx, i64 %begin, i64 %end, i32 0)
  %failed = icmp ne i32 %result, 0
  %last = icmp eq i64 %end, %groups
  %over = or i1 %failed, %last
  br i1 %over, label %done, label %next
next:
  call void @poll()
  %time = call i64 @now(ptr %spec)
  %elapsed = sub i64 %time, %since
  %cost = call i64 @llvm.umax.i64(i64 %elapsed, i64 ${ALONE_FLOOR})
  %scaled = mul i64 %length, ${ALONE_NS}
  %quotient = udiv i64 %scaled, %cost
  %ideal = call i64 @llvm.umin.i64(i64 %quotient, i64 ${RUN_LIMIT})
  br label %run
done:
  ret i32 %result
}

; Take runs of groups from a slot until none are left.
define internal i32 @work(ptr %slot, ptr %spec, i32 %worker) {
entry:
  %next = getelementptr i8, ptr %slot, i64 ${NEXT}
  %job = getelementptr i8, ptr %slot, i64 ${JOB}
  %status = getelementptr i8, ptr %slot, i64 ${STATUS}
  %ctx.at = getelementptr ptr, ptr %job, i64 1
  %groups.at = getelementptr i64, ptr %job, i64 2
  %threads.at = getelementptr i64, ptr %job, i64 3
  %chunk.at = getelementptr i64, ptr %job, i64 4
  %fn = load ptr, ptr %job, align 8
  %ctx = load ptr, ptr %ctx.at, align 8
  %groups = load i64, ptr %groups.at, align 8
  %threads = load i64, ptr %threads.at, align 8
  %runs = load i64, ptr %chunk.at, align 8
  %long = icmp slt i64 %runs, 0
  %chunk = call i64 @llvm.abs.i64(i64 %runs, i1 true)
  %twice = shl i64 %threads, 1
  %sharers = select i1 %long, i64 %threads, i64 %twice
  %begin.by = select i1 %long, i64 ${RUN_LIMIT}, i64 %chunk
  %start = call i64 @now(ptr %spec)
  br label %take
take:
  %wish = phi i64 [ %begin.by, %entry ], [ %run.next, %measure ]
  %since = phi i64 [ %start, %entry ], [ %time, %measure ]
  %seen = load atomic i64, ptr %next monotonic, align 8
  %left = sub i64 %groups, %seen
  %any = icmp sgt i64 %left, 0
  br i1 %any, label %claim, label %done
claim:
  %fair = udiv i64 %left, %sharers
  %fair.run = call i64 @llvm.umin.i64(i64 %wish, i64 %fair)
  %partial = urem i64 %fair.run, %chunk
  %rounded = sub i64 %fair.run, %partial
  %run = call i64 @llvm.umax.i64(i64 %rounded, i64 %chunk)
  %begin = atomicrmw add ptr %next, i64 %run monotonic, align 8
  %got = icmp slt i64 %begin, %groups
  br i1 %got, label %call, label %done
call:
  %past = add i64 %begin, %run
  %end = call i64 @llvm.smin.i64(i64 %past, i64 %groups)
  %result = call i32 %fn(ptr %ctx, i64 %begin, i64 %end, i32 %worker)
  %failed = icmp ne i32 %result, 0
  br i1 %failed, label %stop, label %measure
measure:
  call void @poll()
  %time = call i64 @now(ptr %spec)
  %elapsed = sub i64 %time, %since
  %cost = call i64 @llvm.umax.i64(i64 %elapsed, i64 ${RUN_FLOOR})
  %scaled = mul i64 %run, ${RUN_NS}
  %ideal = udiv i64 %scaled, %cost
  %run.short = call i64 @llvm.umin.i64(i64 %ideal, i64 ${RUN_LIMIT})
  %run.next = select i1 %long, i64 ${RUN_LIMIT}, i64 %run.short
  br label %take
stop:
  %old = cmpxchg ptr %status, i32 0, i32 %result monotonic monotonic, align 4
  store atomic i64 ${NO_GROUPS}, ptr %next monotonic, align 8
  br label %done
done:
  ret i32 0
}

; Let all who share a launch stop: hand out nothing more, and let them look.
define internal void @halt(ptr %slot) noinline {
  %next = getelementptr i8, ptr %slot, i64 ${NEXT}
  %stop = getelementptr i8, ptr %slot, i64 ${STOP}
  store atomic i64 ${NO_GROUPS}, ptr %next monotonic, align 8
  store atomic i32 1, ptr %stop release, align 4
  %old = atomicrmw add ptr @weft_interrupt, i32 2 seq_cst
  call void @weft_rouse()
  ret void
}

define i32 @weft_pool_launch(ptr %pool, ptr %job) {
entry:
  %spec = alloca [2 x i64], align 8
  %own = alloca [${CONTEXT} x i8], align 16
  call void @poll()
  %ctx.at = getelementptr ptr, ptr %job, i64 1
  %groups.at = getelementptr i64, ptr %job, i64 2
  %threads.at = getelementptr i64, ptr %job, i64 3
  %chunk.at = getelementptr i64, ptr %job, i64 4
  %fn = load ptr, ptr %job, align 8
  %ctx = load ptr, ptr %ctx.at, align 8
  %groups = load i64, ptr %groups.at, align 8
  %threads = load i64, ptr %threads.at, align 8
  %runs = load i64, ptr %chunk.at, align 8
  %long = icmp slt i64 %runs, 0
  %chunk = call i64 @llvm.abs.i64(i64 %runs, i1 true)
  %single = icmp sle i64 %threads, 1
  %small = icmp sle i64 %groups, %chunk
  %alone = or i1 %single, %small
  br i1 %alone, label %direct, label %find
direct:
  %in.one = or i1 %small, %long
  br i1 %in.one, label %once, label %serial
once:
  %result = call i32 %fn(ptr %ctx, i64 0, i64 %groups, i32 0)
  ret i32 %result
serial:
  %outcome = call i32 @run_alone(ptr %job, ptr %spec)
  ret i32 %outcome
find:
  %k = phi i64 [ 0, %entry ], [ %k.next, %occupied ]
  %offset = mul i64 %k, ${SLOT}
  %at = add i64 %offset, ${SLOTS}
  %slot = getelementptr i8, ptr %pool, i64 %at
  %owned = getelementptr i8, ptr %slot, i64 ${OWNED}
  %pair = cmpxchg ptr %owned, i32 0, i32 1 acquire monotonic, align 4
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %open, label %occupied
occupied:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, ${SLOT_COUNT}
  br i1 %more, label %find, label %direct
open:
  %gate = getelementptr i8, ptr %slot, i64 ${GATE}
  %next = getelementptr i8, ptr %slot, i64 ${NEXT}
  %copy = getelementptr i8, ptr %slot, i64 ${JOB}
  %status = getelementptr i8, ptr %slot, i64 ${STATUS}
  %stop = getelementptr i8, ptr %slot, i64 ${STOP}
  store atomic i64 0, ptr %next monotonic, align 8
  store atomic i32 0, ptr %status monotonic, align 4
  store atomic i32 0, ptr %stop monotonic, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %copy, ptr align 8 %job, i64 40, i1 false)
  %others = sub i64 %threads, 1
  %tickets = trunc i64 %others to i32
  store atomic i32 %tickets, ptr %gate release, align 4
  %epoch = getelementptr i8, ptr %pool, i64 ${EPOCH}
  %before = atomicrmw add ptr %epoch, i32 1 seq_cst, align 4
  call void @wake_workers(ptr %pool, i32 %tickets)
  %outer = call ptr @weft_context()
  %free = icmp eq ptr %outer, null
  br i1 %free, label %plain, label %guarded
plain:
  %worked = call i32 @work(ptr %slot, ptr %spec, i32 0)
  br label %close
guarded:
  call void @weft_context_make(ptr %own, ptr %outer, ptr %stop)
  %ended = call i32 @weft_guard(ptr %own, ptr @work, ptr %slot, ptr %spec, i32 0)
  %unwound = icmp ne i32 %ended, 0
  br i1 %unwound, label %stopped, label %close
stopped:
  call void @halt(ptr %slot)
  br label %close
close:
  %closing = atomicrmw and ptr %gate, i32 ${CLOSED} acq_rel, align 4
  %inside = and i32 %closing, ${INSIDE}
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %finish, label %linger
linger:
  %seen = load atomic i32, ptr %gate acquire, align 4
  %still = and i32 %seen, ${INSIDE}
  %gone = icmp eq i32 %still, 0
  br i1 %gone, label %finish, label %wait
wait:
  %spin.at = getelementptr i8, ptr %pool, i64 ${SPIN_NS}
  %spin = load i64, ptr %spin.at, align 8
  %expired = call i1 @spin(ptr %gate, i32 %seen, i64 %spin, ptr %spec)
  br i1 %expired, label %doze, label %linger
doze:
  %asked = atomicrmw or ptr %gate, i32 ${WAITING} acq_rel, align 4
  %expected = or i32 %asked, ${WAITING}
  %left = and i32 %asked, ${INSIDE}
  %last = icmp eq i32 %left, 0
  br i1 %last, label %finish, label %sleep
sleep:
  call void @doze(ptr %gate, i32 %expected)
  br i1 %free, label %linger, label %look
look:
  %flag = load atomic i32, ptr @weft_interrupt monotonic, align 4
  %quiet = icmp eq i32 %flag, 0
  %word = load atomic i32, ptr %stop monotonic, align 4
  %stopping = icmp ne i32 %word, 0
  %wait.on = or i1 %quiet, %stopping
  br i1 %wait.on, label %linger, label %ask
ask:
  %told = call i32 @weft_look(ptr %outer)
  %interrupted = icmp ne i32 %told, 0
  br i1 %interrupted, label %interrupt, label %linger
interrupt:
  call void @halt(ptr %slot)
  br label %linger
finish:
  %first = load atomic i32, ptr %status monotonic, align 4
  %halted = load atomic i32, ptr %stop monotonic, align 4
  store atomic i32 0, ptr %gate monotonic, align 4
  store atomic i32 0, ptr %owned release, align 4
  %halting = icmp ne i32 %halted, 0
  br i1 %halting, label %unwind, label %return
unwind:
  %old = atomicrmw sub ptr @weft_interrupt, i32 2 seq_cst
  call void @weft_unwind(ptr %outer)
  unreachable
return:
  ret i32 %first
}

; What a worker thread runs, for as long as the process lives.
define ptr @weft_pool_worker(ptr %pool) {
entry:
  %spec = alloca [2 x i64], align 8
  %own = alloca [${CONTEXT} x i8], align 16
  %epoch = getelementptr i8, ptr %pool, i64 ${EPOCH}
  %sleepers = getelementptr i8, ptr %pool, i64 ${SLEEPERS}
  %spin.at = getelementptr i8, ptr %pool, i64 ${SPIN_NS}
  call void @weft_interrupt_join()
  br label %idle
idle:
  %seen = load atomic i32, ptr %epoch seq_cst, align 4
  br label %scan
scan:
  %k = phi i64 [ 0, %idle ], [ %k.next, %full ]
  %offset = mul i64 %k, ${SLOT}
  %at = add i64 %offset, ${SLOTS}
  %slot = getelementptr i8, ptr %pool, i64 %at
  %gate = getelementptr i8, ptr %slot, i64 ${GATE}
  br label %knock
knock:
  %state = load atomic i32, ptr %gate monotonic, align 4
  %tickets = and i32 %state, ${TICKETS}
  %none = icmp eq i32 %tickets, 0
  br i1 %none, label %full, label %enter
enter:
  %joined = add i32 %state, ${JOIN}
  %pair = cmpxchg ptr %gate, i32 %state, i32 %joined acquire monotonic, align 4
  %in = extractvalue { i32, i1 } %pair, 1
  br i1 %in, label %join, label %knock
join:
  %rest = sub i32 %tickets, 1
  call void @wake_workers(ptr %pool, i32 %rest)
  %stop = getelementptr i8, ptr %slot, i64 ${STOP}
  call void @weft_context_make(ptr %own, ptr null, ptr %stop)
  %worked = call i32 @weft_guard(ptr %own, ptr @work, ptr %slot, ptr %spec, i32 %tickets)
  %leaving = atomicrmw sub ptr %gate, i32 ${INSIDE_ONE} release, align 4
  %others = and i32 %leaving, ${INSIDE}
  %last = icmp eq i32 %others, ${INSIDE_ONE}
  %waiting = and i32 %leaving, ${WAITING}
  %asleep = icmp ne i32 %waiting, 0
  %tell = and i1 %last, %asleep
  br i1 %tell, label %rouse, label %idle
rouse:
  call void @wake(ptr %gate, i32 1)
  br label %idle
full:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, ${SLOT_COUNT}
  br i1 %more, label %scan, label %rest.now
rest.now:
  %spin = load i64, ptr %spin.at, align 8
  %expired = call i1 @spin(ptr %epoch, i32 %seen, i64 %spin, ptr %spec)
  br i1 %expired, label %doze, label %idle
doze:
  %count = atomicrmw add ptr %sleepers, i32 1 seq_cst, align 4
  call void @sleep(ptr %epoch, i32 %seen)
  %awake = atomicrmw sub ptr %sleepers, i32 1 seq_cst, align 4
  br label %idle
}
