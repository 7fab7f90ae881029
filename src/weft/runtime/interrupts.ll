; Interrupts of machine code; weft/runtime/interrupts.py explains them.
;
; A context is { [512 bytes] jmp_buf, ptr parent, ptr stop, ptr thread, i64 asks, ptr frames }.

@weft_interrupt = global i32 0

@key = internal global i32 0
@python = internal global [3 x ptr] zeroinitializer
@halted = internal global i32 0
@abandon = internal global ptr null

; The launch of the main thread: 0 for none, else its number, in bits 62 and 63 whether the handler is, or is being,
; put in for it.
@launch = internal global i64 0
@number = internal global i64 0
@watched = internal global i32 0
@asleep = internal global i32 0
@tick = internal constant [2 x i64] [i64 0, i64 ${TICK_NS}]

@before = internal global [160 x i8] zeroinitializer, align 8
@known = internal global i32 0
@missed = internal global i32 0

; The signal that the watch sends, 0 for none; the main thread; where compiled code is, a list of { ptr next, i64 begin,
; i64 end }; the workers.
@signal = internal global i32 0
@main = internal global i64 0
@code = internal global ptr null
@joined = internal global i32 0
@workers = internal global [${MOST_WORKERS} x i64] zeroinitializer
@printer = internal global ptr null
@press.tick = internal constant [2 x i64] [i64 0, i64 ${PRESS_NS}]

declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @kill(i32, i32)
declare i64 @pthread_self()
declare i32 @pthread_kill(i64, i32)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @getpid()
declare i32 @nanosleep(ptr, ptr)
declare i64 @syscall(i64, ...)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The handler while the main thread runs machine code.
define internal void @on_signal(i32 %number, ptr %info, ptr %machine) {
entry:
  %old = atomicrmw or ptr @weft_interrupt, i32 1 seq_cst
  call void @weft_rouse()
  %known = load atomic i32, ptr @known acquire, align 4
  %some = icmp ne i32 %known, 0
  br i1 %some, label %pass, label %miss
pass:
  ; A handler of one parameter takes the first.
  %handler = load ptr, ptr @before, align 8
  call void %handler(i32 %number, ptr %info, ptr %machine)
  ret void
miss:
  store atomic i32 1, ptr @missed release, align 4
  ret void
}

; The handler of the watch's signal.
define internal void @on_press(i32 %number, ptr %info, ptr %machine) {
entry:
  %mask = alloca [128 x i8], align 8
  %counter.at = getelementptr i8, ptr %machine, i64 ${COUNTER}
  %counter = load i64, ptr %counter.at, align 8
  %first = load atomic ptr, ptr @code acquire, align 8
  br label %look
look:
  %range = phi ptr [ %first, %entry ], [ %next, %miss ]
  %last = icmp eq ptr %range, null
  br i1 %last, label %done, label %test
test:
  %begin.at = getelementptr i64, ptr %range, i64 1
  %end.at = getelementptr i64, ptr %range, i64 2
  %begin = load atomic i64, ptr %begin.at acquire, align 8
  %end = load atomic i64, ptr %end.at acquire, align 8
  %behind = icmp uge i64 %counter, %begin
  %before = icmp ult i64 %counter, %end
  %inside = and i1 %behind, %before
  br i1 %inside, label %poll, label %miss
miss:
  %next = load ptr, ptr %range, align 8
  br label %look
poll:
  call void @weft_poll()
  ; What Python's handlers have changed of the signal mask stays so.
  %asked = call i32 @pthread_sigmask(i32 0, ptr null, ptr %mask)
  %mask.at = getelementptr i8, ptr %machine, i64 ${MASK}
  %now = load i64, ptr %mask, align 8
  store i64 %now, ptr %mask.at, align 8
  br label %done
done:
  ret void
}

; Put that handler in for a signal that nobody handles, the last that there is; 0 if there is none.
define internal i32 @take_signal() {
entry:
  %new = alloca [160 x i8], align 8
  %old = alloca [160 x i8], align 8
  call void @llvm.memset.p0.i64(ptr align 8 %new, i8 0, i64 160, i1 false)
  store ptr @on_press, ptr %new, align 8
  %flags = getelementptr i8, ptr %new, i64 136
  store i32 ${PRESS_FLAGS}, ptr %flags, align 8
  br label %try
try:
  %number = phi i32 [ ${LAST_SIGNAL}, %entry ], [ %lower, %another ]
  %none = icmp slt i32 %number, ${FIRST_SIGNAL}
  br i1 %none, label %no, label %ask
ask:
  store ptr @on_press, ptr %old, align 8
  %failed = call i32 @sigaction(i32 %number, ptr null, ptr %old)
  %handler = load ptr, ptr %old, align 8
  %free = icmp eq ptr %handler, null
  br i1 %free, label %put, label %another
another:
  %lower = sub i32 %number, 1
  br label %try
put:
  %refused = call i32 @sigaction(i32 %number, ptr %new, ptr null)
  %taken = icmp eq i32 %refused, 0
  br i1 %taken, label %yes, label %another
yes:
  ret i32 %number
no:
  ret i32 0
}

; Say that a thread that runs compiled code for others is here, and stays.
define void @weft_interrupt_join() {
entry:
  %at = atomicrmw add ptr @joined, i32 1 seq_cst
  %room = icmp ult i32 %at, ${MOST_WORKERS}
  br i1 %room, label %note, label %done
note:
  %self = call i64 @pthread_self()
  %slot = getelementptr i64, ptr @workers, i32 %at
  store atomic i64 %self, ptr %slot seq_cst, align 8
  br label %done
done:
  ret void
}

; Send the signal to all who may be in compiled code, unless somebody else handles it now.
define internal void @press(i1 %running) noinline {
entry:
  %seen = alloca [160 x i8], align 8
  %signal = load i32, ptr @signal
  store ptr null, ptr %seen, align 8
  %failed = call i32 @sigaction(i32 %signal, ptr null, ptr %seen)
  %handler = load ptr, ptr %seen, align 8
  %mine = icmp eq ptr %handler, @on_press
  br i1 %mine, label %first, label %done
first:
  br i1 %running, label %main, label %others
main:
  %thread = load i64, ptr @main
  %told = call i32 @pthread_kill(i64 %thread, i32 %signal)
  br label %others
others:
  %count = load atomic i32, ptr @joined seq_cst, align 4
  br label %each
each:
  %k = phi i32 [ 0, %others ], [ %k.next, %next ]
  %more = icmp ult i32 %k, %count
  %inside = icmp ult i32 %k, ${MOST_WORKERS}
  %on = and i1 %more, %inside
  br i1 %on, label %take, label %done
take:
  %slot = getelementptr i64, ptr @workers, i32 %k
  %worker = load atomic i64, ptr %slot seq_cst, align 8
  %there = icmp ne i64 %worker, 0
  br i1 %there, label %send, label %next
send:
  %sent = call i32 @pthread_kill(i64 %worker, i32 %signal)
  br label %next
next:
  %k.next = add i32 %k, 1
  br label %each
done:
  ret void
}

; Whether somebody is to look who has not; and whether that may be the main thread.
define internal { i1, i1 } @waited_for() {
  %word = load atomic i32, ptr @weft_interrupt seq_cst, align 4
  %launch = load atomic i64, ptr @launch seq_cst, align 8
  %running = icmp ne i64 %launch, 0
  %stopping = icmp ugt i32 %word, 1
  %asking = icmp eq i32 %word, 1
  %asked = and i1 %asking, %running
  %any = or i1 %stopping, %asked
  %one = insertvalue { i1, i1 } poison, i1 %any, 0
  %both = insertvalue { i1, i1 } %one, i1 %running, 1
  ret { i1, i1 } %both
}

; Wake the watch: the word is no longer zero.
define void @weft_rouse() noinline {
entry:
  %sleeps = load atomic i32, ptr @asleep seq_cst, align 4
  %awake = icmp eq i32 %sleeps, 0
  br i1 %awake, label %done, label %wake
wake:
  store atomic i32 0, ptr @asleep seq_cst, align 4
  %r = call i64 (i64, ...) @syscall(i64 ${futex}, ptr @asleep, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %done
done:
  ret void
}

; Put the handler in; true if it was not there. A signal that ends the process, or is ignored, goes on to do so.
define internal i1 @arm() noinline {
entry:
  %new = alloca [160 x i8], align 8
  %old = alloca [160 x i8], align 8
  call void @llvm.memset.p0.i64(ptr align 8 %new, i8 0, i64 160, i1 false)
  store ptr @on_signal, ptr %new, align 8
  %flags = getelementptr i8, ptr %new, i64 136
  store i32 ${HANDLER_FLAGS}, ptr %flags, align 8
  %failed = call i32 @sigaction(i32 ${SIGINT}, ptr %new, ptr %old)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %no, label %look
look:
  %handler = load ptr, ptr %old, align 8
  %there = icmp eq ptr %handler, @on_signal
  br i1 %there, label %no, label %kind
kind:
  %number = ptrtoint ptr %handler to i64
  %function = icmp ugt i64 %number, 1
  br i1 %function, label %keep, label %restore
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 @before, ptr align 8 %old, i64 160, i1 false)
  store atomic i32 1, ptr @known release, align 4
  %missed = atomicrmw xchg ptr @missed, i32 0 seq_cst
  %late = icmp ne i32 %missed, 0
  br i1 %late, label %again, label %yes
again:
  %process = call i32 @getpid()
  %raised = call i32 @kill(i32 %process, i32 ${SIGINT})
  br label %yes
restore:
  %back = call i32 @sigaction(i32 ${SIGINT}, ptr %old, ptr null)
  %lost = atomicrmw xchg ptr @missed, i32 0 seq_cst
  %came = icmp ne i32 %lost, 0
  br i1 %came, label %resend, label %no
resend:
  %self = call i32 @getpid()
  %sent = call i32 @kill(i32 %self, i32 ${SIGINT})
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Take the handler out, unless somebody else has.
define internal void @disarm() {
entry:
  %seen = alloca [160 x i8], align 8
  %known = load atomic i32, ptr @known acquire, align 4
  %some = icmp ne i32 %known, 0
  br i1 %some, label %swap, label %done
swap:
  %failed = call i32 @sigaction(i32 ${SIGINT}, ptr @before, ptr %seen)
  %handler = load ptr, ptr %seen, align 8
  %mine = icmp eq ptr %handler, @on_signal
  br i1 %mine, label %done, label %undo
undo:
  %again = call i32 @sigaction(i32 ${SIGINT}, ptr %seen, ptr null)
  br label %done
done:
  ret void
}

; The number of the watch's signal, or 0.
define i32 @weft_interrupt_setup(ptr %check, ptr %save, ptr %restore) {
entry:
  %failed = call i32 @pthread_key_create(ptr @key, ptr null)
  %save.at = getelementptr ptr, ptr @python, i64 1
  %restore.at = getelementptr ptr, ptr @python, i64 2
  store ptr %check, ptr @python
  store ptr %save, ptr %save.at
  store ptr %restore, ptr %restore.at
  %bad = call i32 @sigaction(i32 ${SIGINT}, ptr null, ptr @before)
  %handler = load ptr, ptr @before, align 8
  %number = ptrtoint ptr %handler to i64
  %function = icmp ugt i64 %number, 1
  %known = zext i1 %function to i32
  store atomic i32 %known, ptr @known release, align 4
  %signal = call i32 @take_signal()
  store i32 %signal, ptr @signal
  ret i32 %signal
}

; Put another place into the list of where compiled code is; handlers may be walking along it.
define void @weft_interrupt_cover(ptr %range) {
entry:
  %first = load atomic ptr, ptr @code acquire, align 8
  br label %try
try:
  %head = phi ptr [ %first, %entry ], [ %other, %try ]
  store ptr %head, ptr %range, align 8
  %pair = cmpxchg ptr @code, ptr %head, ptr %range acq_rel acquire, align 8
  %other = extractvalue { ptr, i1 } %pair, 0
  %in = extractvalue { ptr, i1 } %pair, 1
  br i1 %in, label %done, label %try
done:
  ret void
}

; What frees frames of the heap.
define void @weft_interrupt_heap(ptr %abandon) {
  store ptr %abandon, ptr @abandon
  ret void
}

; In the only thread of a forked child: nothing runs, and what ran has left nothing behind.
define void @weft_interrupt_reset() {
  store atomic i32 0, ptr @weft_interrupt seq_cst, align 4
  store atomic i64 0, ptr @launch seq_cst, align 8
  store atomic i32 0, ptr @watched seq_cst, align 4
  store atomic i32 0, ptr @asleep seq_cst, align 4
  store atomic i32 0, ptr @joined seq_cst, align 4
  call void @llvm.memset.p0.i64(ptr align 8 @workers, i8 0, i64 ${WORKER_BYTES}, i1 false)
  call void @disarm()
  ret void
}

; Let the launch that is running in the main thread end at its next poll.
define void @weft_interrupt_halt() {
  store i32 1, ptr @halted
  %old = atomicrmw or ptr @weft_interrupt, i32 1 seq_cst
  call void @weft_rouse()
  ret void
}

define ptr @weft_context() {
  %key = load i32, ptr @key
  %context = call ptr @pthread_getspecific(i32 %key)
  ret ptr %context
}

; Make a context under another, or under none, for one of those who share a launch.
define void @weft_context_make(ptr %context, ptr %parent, ptr %stop) {
entry:
  %parent.at = getelementptr i8, ptr %context, i64 ${PARENT}
  %stop.at = getelementptr i8, ptr %context, i64 ${STOP}
  %thread.at = getelementptr i8, ptr %context, i64 ${THREAD}
  %asks.at = getelementptr i8, ptr %context, i64 ${ASKS}
  %frames.at = getelementptr i8, ptr %context, i64 ${FRAMES}
  store ptr %parent, ptr %parent.at
  store ptr %stop, ptr %stop.at
  store ptr null, ptr %frames.at
  %root = icmp eq ptr %parent, null
  br i1 %root, label %fresh, label %inherit
fresh:
  store ptr null, ptr %thread.at
  store i64 0, ptr %asks.at
  ret void
inherit:
  %thread.from = getelementptr i8, ptr %parent, i64 ${THREAD}
  %asks.from = getelementptr i8, ptr %parent, i64 ${ASKS}
  %thread = load ptr, ptr %thread.from
  %asks = load i64, ptr %asks.from
  store ptr %thread, ptr %thread.at
  store i64 %asks, ptr %asks.at
  ret void
}

; Call a function, which ends at the latest when `weft_unwind` is called with the context; -1 if it is.
define i32 @weft_guard(ptr %context, ptr %function, ptr %a, ptr %b, i32 %c) noinline {
entry:
  %key = load i32, ptr @key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %returned = call i32 @_setjmp(ptr %context) returns_twice
  %stopped = icmp ne i32 %returned, 0
  br i1 %stopped, label %done, label %run
run:
  %set = call i32 @pthread_setspecific(i32 %key, ptr %context)
  %status = call i32 %function(ptr %a, ptr %b, i32 %c)
  br label %done
done:
  %result = phi i32 [ -1, %entry ], [ %status, %run ]
  %reset = call i32 @pthread_setspecific(i32 %key, ptr %outer)
  ret i32 %result
}

define void @weft_unwind(ptr %context) noreturn {
entry:
  %frames.at = getelementptr i8, ptr %context, i64 ${FRAMES}
  %frames = load ptr, ptr %frames.at
  %none = icmp eq ptr %frames, null
  br i1 %none, label %jump, label %free
free:
  %abandon = load ptr, ptr @abandon
  call void %abandon(ptr %frames)
  br label %jump
jump:
  call void @longjmp(ptr %context, i32 1) noreturn
  unreachable
}

; Let Python's handlers run; 1 if one raised.
define internal i32 @ask(ptr %context) noinline {
entry:
  %flag = load atomic i32, ptr @weft_interrupt seq_cst, align 4
  %bit = and i32 %flag, 1
  %came = icmp ne i32 %bit, 0
  br i1 %came, label %take, label %no
take:
  %old = atomicrmw and ptr @weft_interrupt, i32 -2 seq_cst
  %halted = load i32, ptr @halted
  %halt = icmp ne i32 %halted, 0
  br i1 %halt, label %halting, label %enter
halting:
  store i32 0, ptr @halted
  ret i32 1
enter:
  %save.at = getelementptr ptr, ptr @python, i64 1
  %restore.at = getelementptr ptr, ptr @python, i64 2
  %check = load ptr, ptr @python
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  %thread.at = getelementptr i8, ptr %context, i64 ${THREAD}
  %thread = load ptr, ptr %thread.at
  call void %restore(ptr %thread)
  br label %run
run:
  %error = call i32 %check()
  %raised = icmp ne i32 %error, 0
  br i1 %raised, label %leave, label %rearm
rearm:
  ; A handler may have put another one in its place, and that one may have been called since.
  %replaced = call i1 @arm()
  br i1 %replaced, label %run, label %leave
leave:
  %result = zext i1 %raised to i32
  %same = call ptr %save()
  ret i32 %result
no:
  ret i32 0
}

; What the thread with this context is to do: 1 to stop, 0 to go on.
define i32 @weft_look(ptr %context) noinline {
entry:
  br label %each
each:
  %at = phi ptr [ %context, %entry ], [ %parent, %next ]
  %stop.at = getelementptr i8, ptr %at, i64 ${STOP}
  %stop = load ptr, ptr %stop.at
  %none = icmp eq ptr %stop, null
  br i1 %none, label %next, label %test
test:
  %word = load atomic i32, ptr %stop acquire, align 4
  %set = icmp ne i32 %word, 0
  br i1 %set, label %yes, label %next
next:
  %parent.at = getelementptr i8, ptr %at, i64 ${PARENT}
  %parent = load ptr, ptr %parent.at
  %root = icmp eq ptr %parent, null
  br i1 %root, label %last, label %each
last:
  %asks.at = getelementptr i8, ptr %context, i64 ${ASKS}
  %asks = load i64, ptr %asks.at
  %may = icmp ne i64 %asks, 0
  br i1 %may, label %signals, label %no
signals:
  %raised = call i32 @ask(ptr %context)
  ret i32 %raised
yes:
  ret i32 1
no:
  ret i32 0
}

; What is called when `weft_interrupt` is not zero.
define void @weft_poll() noinline cold {
entry:
  %context = call ptr @weft_context()
  %none = icmp eq ptr %context, null
  br i1 %none, label %on, label %look
look:
  %stop = call i32 @weft_look(ptr %context)
  %stops = icmp ne i32 %stop, 0
  br i1 %stops, label %end, label %on
end:
  call void @weft_unwind(ptr %context)
  unreachable
on:
  ret void
}

; Whom `weft_interrupt_print` calls.
define void @weft_interrupt_printer(ptr %printer) {
  store ptr %printer, ptr @printer
  ret void
}

; What compiled code calls to print: a loop that does is mostly in Python.
define void @weft_interrupt_print(ptr %letters, ptr %values) {
entry:
  %printer = load ptr, ptr @printer
  call void %printer(ptr %letters, ptr %values)
  %flag = load atomic i32, ptr @weft_interrupt monotonic, align 4
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %on, label %look
look:
  call void @weft_poll()
  br label %on
on:
  ret void
}

; Begin a launch of the main thread; false inside of another.
define internal i1 @begin() {
entry:
  %around = load atomic i64, ptr @launch monotonic, align 8
  %outer = icmp eq i64 %around, 0
  br i1 %outer, label %start, label %inside
start:
  %last = load i64, ptr @number
  %next = add i64 %last, 1
  store atomic i64 %next, ptr @number seq_cst, align 8
  store atomic i64 %next, ptr @launch seq_cst, align 8
  %watched = load atomic i32, ptr @watched monotonic, align 4
  %alone = icmp eq i32 %watched, 0
  br i1 %alone, label %arm, label %look
arm:
  %armed = call i1 @arm()
  %marked = or i64 %next, ${ARMED}
  store atomic i64 %marked, ptr @launch seq_cst, align 8
  ret i1 true
look:
  call void @weft_rouse()
  ret i1 true
inside:
  ret i1 false
}

; End it: the watch may be putting in the handler.
define internal void @end() {
entry:
  %number = load i64, ptr @number
  %pair = cmpxchg ptr @launch, i64 %number, i64 0 seq_cst seq_cst
  %short = extractvalue { i64, i1 } %pair, 1
  br i1 %short, label %clear, label %wait
wait:
  %state = load atomic i64, ptr @launch acquire, align 8
  %bit = and i64 %state, ${ARMING}
  %busy = icmp ne i64 %bit, 0
  br i1 %busy, label %wait, label %out
out:
  call void @disarm()
  store atomic i64 0, ptr @launch seq_cst, align 8
  br label %clear
clear:
  store i32 0, ptr @halted
  %flag = load atomic i32, ptr @weft_interrupt monotonic, align 4
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %done, label %reset
reset:
  %old = atomicrmw and ptr @weft_interrupt, i32 -2 seq_cst
  br label %done
done:
  ret void
}

; The watch. It puts the handler in for launches that last: short ones are spared the system calls. And it sends the
; signal until all have looked who are to.
define ptr @weft_interrupt_watch(i64 %main) {
entry:
  store i64 %main, ptr @main
  store atomic i32 1, ptr @watched seq_cst, align 4
  br label %look
look:
  %idle = phi i32 [ 0, %entry ], [ %idle.next, %rest ], [ 0, %pressing ], [ 0, %awake ]
  %pause = phi ptr [ @tick, %entry ], [ @tick, %rest ], [ @press.tick, %pressing ], [ @tick, %awake ]
  %seen = load atomic i64, ptr @number seq_cst, align 8
  %slept = call i32 @nanosleep(ptr %pause, ptr null)
  %number = load atomic i64, ptr @number seq_cst, align 8
  %launch = load atomic i64, ptr @launch seq_cst, align 8
  %same = icmp eq i64 %number, %seen
  %lasts = icmp eq i64 %launch, %seen
  %running = icmp ne i64 %launch, 0
  %long = and i1 %lasts, %running
  br i1 %long, label %claim, label %count
claim:
  %arming = or i64 %launch, ${ARMING}
  %pair = cmpxchg ptr @launch, i64 %launch, i64 %arming seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %arm, label %count
arm:
  %put = call i1 @arm()
  ; What came before is pending: let the launch ask once.
  %old = atomicrmw or ptr @weft_interrupt, i32 1 seq_cst
  %armed = or i64 %launch, ${ARMED}
  store atomic i64 %armed, ptr @launch seq_cst, align 8
  br label %pressing
count:
  %state = call { i1, i1 } @waited_for()
  %late = extractvalue { i1, i1 } %state, 0
  br i1 %late, label %late.now, label %quiet
late.now:
  %in.main = extractvalue { i1, i1 } %state, 1
  call void @press(i1 %in.main)
  br label %pressing
pressing:
  br label %look
quiet:
  %more = add i32 %idle, 1
  %idle.next = select i1 %same, i32 %more, i32 0
  %still = icmp ugt i32 %idle.next, ${IDLE_TICKS}
  br i1 %still, label %doze, label %rest
rest:
  br label %look
doze:
  store atomic i32 1, ptr @asleep seq_cst, align 4
  %now = load atomic i64, ptr @number seq_cst, align 8
  %none = icmp eq i64 %now, %number
  %last = call { i1, i1 } @waited_for()
  %called = extractvalue { i1, i1 } %last, 0
  %calm = xor i1 %called, true
  %may = and i1 %none, %calm
  br i1 %may, label %sleep, label %awake
sleep:
  %r = call i64 (i64, ...) @syscall(i64 ${futex}, ptr @asleep, i32 128, i32 1, ptr null, ptr null, i32 0)
  %word = load atomic i32, ptr @asleep seq_cst, align 4
  %on = icmp eq i32 %word, 1
  br i1 %on, label %sleep, label %awake
awake:
  store atomic i32 0, ptr @asleep seq_cst, align 4
  br label %look
}

; Call a function in Python's main thread, which holds the GIL.
define i32 @weft_interrupt_enter(ptr %function, ptr %a, ptr %b) {
entry:
  %context = alloca [${CONTEXT} x i8], align 16
  %began = call i1 @begin()
  %check = load ptr, ptr @python
  ; What came before: later signals find the handler, or are asked for when it is put in.
  %error = call i32 %check()
  %raised = icmp ne i32 %error, 0
  br i1 %raised, label %back, label %run
run:
  %save.at = getelementptr ptr, ptr @python, i64 1
  %restore.at = getelementptr ptr, ptr @python, i64 2
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  call void @weft_context_make(ptr %context, ptr null, ptr null)
  %thread = call ptr %save()
  %thread.at = getelementptr i8, ptr %context, i64 ${THREAD}
  %asks.at = getelementptr i8, ptr %context, i64 ${ASKS}
  store ptr %thread, ptr %thread.at
  store i64 1, ptr %asks.at
  %status = call i32 @weft_guard(ptr %context, ptr %function, ptr %a, ptr %b, i32 0)
  call void %restore(ptr %thread)
  br label %back
back:
  %result = phi i32 [ -1, %entry ], [ %status, %run ]
  br i1 %began, label %out, label %done
out:
  call void @end()
  br label %done
done:
  ret i32 %result
}

; The same in another thread, which signals leave alone.
define i32 @weft_interrupt_alone(ptr %function, ptr %a, ptr %b) {
  %save.at = getelementptr ptr, ptr @python, i64 1
  %restore.at = getelementptr ptr, ptr @python, i64 2
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  %thread = call ptr %save()
  %status = call i32 %function(ptr %a, ptr %b)
  call void %restore(ptr %thread)
  ret i32 %status
}
