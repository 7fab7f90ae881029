; Calls of elementwise functions without Python code between; weft/runtime/elementwise_calls.py explains the words.

@weft_callers = external global [3 x i64]
@weft_pool_ready = external global i64
@weft_names = external global [5 x ptr]
@weft_parallel_settings = external global [2 x i64]
@weft_pool_launch = external global i8
@weft_array_type = external global i8
@weft_truths = external global i8
@_Py_TrueStruct = external global i8

declare i64 @pthread_self()
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @weft_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @weft_new_scalar(ptr, ptr, ptr)
declare i32 @weft_interrupt_enter(ptr, ptr, ptr)
declare i32 @weft_interrupt_alone(ptr, ptr, ptr)
declare i64 @llvm.abs.i64(i64, i1)
declare double @llvm.fabs.f64(double)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

; A method of Python's: the object, its arguments, how many come by position, and the names of the others.
define ptr @weft_elementwise(ptr %self, ptr %args, i64 %count, ptr %keywords) {
entry:
  %plan = alloca [${PLAN} x i64], align 16
  %values = alloca [${VALUES} x i64], align 16
  %frame = alloca [2 x i64], align 16
  %number = alloca [2 x i64], align 16
  %named = alloca [2 x ptr], align 16
  %job = alloca [5 x i64], align 16
  store ptr null, ptr %named
  %where.to = getelementptr ptr, ptr %named, i64 1
  store ptr null, ptr %where.to
  %may = load i64, ptr @weft_callers
  %allowed = icmp ne i64 %may, 0
  br i1 %allowed, label %thread, label %slow
thread:
  ; The main thread comes through Python until there is a watch over its launches.
  %here = call i64 @pthread_self()
  %main.at = getelementptr i64, ptr @weft_callers, i64 1
  %main = load i64, ptr %main.at
  %watched.at = getelementptr i64, ptr @weft_callers, i64 2
  %watched = load i64, ptr %watched.at
  %in.main = icmp eq i64 %here, %main
  %unwatched = icmp eq i64 %watched, 0
  %too.early = and i1 %in.main, %unwatched
  %enter.by = select i1 %in.main, ptr @weft_interrupt_enter, ptr @weft_interrupt_alone
  br i1 %too.early, label %slow, label %names
names:
  %rest = getelementptr ptr, ptr %args, i64 %count
  %known.names = call i1 @names(ptr %keywords, ptr %rest, ptr %named)
  br i1 %known.names, label %table, label %slow
table:
  %name = load ptr, ptr @weft_names
  %table.number = call ptr @PyObject_GetAttr(ptr %self, ptr %name)
  %missing = icmp eq ptr %table.number, null
  br i1 %missing, label %failed, label %found
found:
  %first = call ptr @PyLong_AsVoidPtr(ptr %table.number)
  call void @Py_DecRef(ptr %table.number)
  br label %try
try:
  %record = phi ptr [ %first, %found ], [ %following, %next ]
  %last = icmp eq ptr %record, null
  br i1 %last, label %slow, label %inputs
next:
  %following = load ptr, ptr %record
  br label %try
inputs:
  %taken = call i32 @take(ptr %record, ptr %args, i64 %count, ptr %plan, ptr %values)
  switch i32 %taken, label %slow [ i32 0, label %outputs
    i32 1, label %next ]
outputs:
  ; The mask and the result follow the inputs; the result comes by name or behind the inputs.
  %nin.at = getelementptr i64, ptr %record, i64 1
  %nin = load i64, ptr %nin.at
  %by.name = load ptr, ptr %named
  %mask = load ptr, ptr %where.to
  %has.more = icmp ne i64 %nin, %count
  br i1 %has.more, label %positional, label %given
positional:
  %twice = icmp ne ptr %by.name, null
  br i1 %twice, label %slow, label %by.position
by.position:
  %last.at = getelementptr ptr, ptr %args, i64 %nin
  %from.args = load ptr, ptr %last.at
  br label %given
given:
  %out = phi ptr [ %by.name, %outputs ], [ %from.args, %by.position ]
  %new = icmp eq ptr %out, null
  %masked = icmp ne ptr %mask, null
  %lost = and i1 %new, %masked
  br i1 %lost, label %slow, label %masks
masks:
  %dtype.at = getelementptr i64, ptr %record, i64 2
  %dtype = load ptr, ptr %dtype.at
  %size.at = getelementptr i64, ptr %record, i64 3
  %size = load i64, ptr %size.at
  br i1 %masked, label %a.mask, label %no.mask
a.mask:
  %mask.fits = call i1 @array(ptr %plan, i64 %nin, ptr %mask, ptr @weft_truths, i64 1, i32 ${ALIGNED})
  br i1 %mask.fits, label %no.mask, label %slow
no.mask:
  %mask.count = zext i1 %masked to i64
  %last.op = add i64 %nin, %mask.count
  %all.ops = add i64 %last.op, 1
  %ops.at = getelementptr i64, ptr %plan, i64 1
  br i1 %new, label %fresh, label %a.result
a.result:
  %out.fits = call i1 @array(ptr %plan, i64 %last.op, ptr %out, ptr %dtype, i64 %size, i32 ${ALIGNED_WRITEABLE})
  br i1 %out.fits, label %there, label %slow
there:
  store i64 %all.ops, ptr %ops.at
  %fits = call i1 @shape(ptr %plan)
  br i1 %fits, label %whole, label %slow
whole:
  ; Results are not spread over an array, and meet no other input than one that lies as they do.
  %spread = call i1 @is_spread(ptr %plan, i64 %last.op)
  call void @order(ptr %plan)
  %simple = call i1 @is_apart(ptr %plan, i64 %last.op)
  %unspread = xor i1 %spread, true
  %writable = and i1 %unspread, %simple
  br i1 %writable, label %merge, label %slow
fresh:
  store i64 %last.op, ptr %ops.at
  %agree = call i1 @shape(ptr %plan)
  br i1 %agree, label %sort, label %slow
sort:
  call void @order(ptr %plan)
  store i64 %all.ops, ptr %ops.at
  %out.op = call ptr @operand(ptr %plan, i64 %last.op)
  %in.order = call i1 @result_strides(ptr %plan, ptr %out.op, i64 %size)
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %is.number = icmp eq i64 %ndim, 0
  br i1 %is.number, label %numeric, label %allocate
numeric:
  store ptr %number, ptr %out.op
  br label %merge
allocate:
  %dimensions = trunc i64 %ndim to i32
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %own.strides = getelementptr i64, ptr %out.op, i64 ${STRIDES}
  %strides = select i1 %in.order, ptr null, ptr %own.strides
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr @weft_new_array(ptr @weft_array_type, ptr %dtype, i32 %dimensions, ptr %shape, ptr %strides,
                                   ptr null, i32 0, ptr null)
  %no.array = icmp eq ptr %made, null
  br i1 %no.array, label %failed, label %empty
empty:
  %memory.at = getelementptr i8, ptr %made, i64 16
  %memory = load ptr, ptr %memory.at
  store ptr %memory, ptr %out.op
  br label %merge
merge:
  %result = phi ptr [ %out, %whole ], [ null, %numeric ], [ %made, %empty ]
  %total = call i64 @merge(ptr %plan)
  %nothing = icmp eq i64 %total, 0
  br i1 %nothing, label %done, label %seek
seek:
  %rows.at = getelementptr i64, ptr %plan, i64 4
  %rows = load i64, ptr %rows.at
  %row.at = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  %row = load i64, ptr %row.at
  %lines.at = getelementptr i64, ptr %record, i64 4
  %lines = load ptr, ptr %lines.at
  %short = icmp slt i64 %row, ${SHORT_ROW}
  %many = icmp sgt i64 %rows, ${MANY_ROWS}
  %crowded = and i1 %short, %many
  %little = icmp sle i64 %total, ${LITTLE}
  %copies = or i1 %crowded, %little
  %mode = call i64 @blocks(ptr %plan, i1 %crowded, i1 %copies)
  %scattered = icmp slt i64 %mode, 0
  %blocks = icmp ne i64 %mode, 0
  br i1 %scattered, label %give.up, label %seek.line
seek.line:
  %pattern = call i64 @pattern(ptr %plan, i1 %masked)
  %line = call ptr @line(ptr %lines, i64 %pattern)
  %no.line = icmp eq ptr %line, null
  br i1 %no.line, label %tell, label %ready
tell:
  %wanted.at = getelementptr i64, ptr %lines, i64 1
  store i64 %pattern, ptr %wanted.at
  br label %give.up
ready:
  %pool.ready = load i64, ptr @weft_pool_ready
  %unready = icmp eq i64 %pool.ready, 0
  br i1 %unready, label %give.up, label %go
go:
  %function.at = getelementptr i64, ptr %line, i64 2
  %function = load ptr, ptr %function.at
  store ptr %function, ptr %plan
  %frame.at = getelementptr i64, ptr %plan, i64 6
  store ptr %frame, ptr %frame.at
  store [2 x i64] zeroinitializer, ptr %frame
  ; Many short rows are shared among threads here, long ones in the function.
  %pool = load ptr, ptr @weft_parallel_settings
  %limit.at = getelementptr i64, ptr @weft_parallel_settings, i64 1
  %limit = load i64, ptr %limit.at
  %large = icmp sge i64 %total, ${LARGE}
  %narrow.row = icmp slt i64 %row, ${LONG_ROW}
  %narrow = or i1 %narrow.row, %blocks
  %several = icmp sgt i64 %limit, 1
  %has.pool = icmp ne ptr %pool, null
  %share.1 = and i1 %large, %narrow
  %share.2 = and i1 %several, %has.pool
  %share = and i1 %share.1, %share.2
  br i1 %share, label %together, label %alone
together:
  %job.plan = getelementptr i64, ptr %job, i64 1
  %job.rows = getelementptr i64, ptr %job, i64 2
  %job.threads = getelementptr i64, ptr %job, i64 3
  %job.chunk = getelementptr i64, ptr %job, i64 4
  %chunk = udiv i64 ${CHUNK}, %row
  %chunk.rows = add i64 %chunk, 1
  %some = select i1 %blocks, i64 ${CHUNK_BLOCKS}, i64 %chunk.rows
  %each = select i1 %blocks, ptr @part_in_blocks, ptr @part
  %units = load i64, ptr %rows.at
  store ptr %each, ptr %job
  store ptr %plan, ptr %job.plan
  store i64 %units, ptr %job.rows
  store i64 %limit, ptr %job.threads
  store i64 %some, ptr %job.chunk
  %shared = call i32 %enter.by(ptr @weft_pool_launch, ptr %pool, ptr %job)
  br label %ran
alone:
  %ended = call i32 %enter.by(ptr @all, ptr %plan, ptr null)
  br label %ran
ran:
  %raised = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %quiet, label %abandon
abandon:
  call void @drop(ptr %result, i1 %new)
  br label %failed
quiet:
  %error.at = getelementptr i64, ptr %frame, i64 1
  %error = load i64, ptr %error.at
  %no.error = icmp eq i64 %error, 0
  br i1 %no.error, label %done, label %finish
finish:
  call void @drop(ptr %result, i1 %new)
  %answered = call ptr @finish(ptr %self, ptr %line, ptr %frame)
  ret ptr %answered
done:
  %scalar = icmp eq ptr %result, null
  br i1 %scalar, label %as.number, label %as.array
as.number:
  %value = call ptr @weft_new_scalar(ptr %number, ptr %dtype, ptr null)
  ret ptr %value
as.array:
  br i1 %new, label %give, label %same
same:
  call void @Py_IncRef(ptr %result)
  br label %give
give:
  ret ptr %result
failed:
  ret ptr null
give.up:
  call void @drop(ptr %result, i1 %new)
  br label %slow
slow:
  %all.named = call i64 @count_names(ptr %keywords)
  %all.args = add i64 %count, %all.named
  %all.given = add i64 %all.args, 1
  %stack = alloca ptr, i64 %all.given, align 16
  store ptr %self, ptr %stack
  %others = getelementptr ptr, ptr %stack, i64 1
  call void @copy(ptr %others, ptr %args, i64 %all.args)
  %method.at = getelementptr ptr, ptr @weft_names, i64 1
  %method = load ptr, ptr %method.at
  %with.self = add i64 %count, 1
  %answer = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %stack, i64 %with.self, ptr %keywords)
  ret ptr %answer
}

; Give a result back that nobody gets; `new` says that it was made here.
define internal void @drop(ptr %result, i1 %new) {
entry:
  %some = icmp ne ptr %result, null
  %own = and i1 %some, %new
  br i1 %own, label %free, label %done
free:
  call void @Py_DecRef(ptr %result)
  br label %done
done:
  ret void
}

define internal i64 @count_names(ptr %names) {
entry:
  %none = icmp eq ptr %names, null
  br i1 %none, label %no, label %some
some:
  %count = call i64 @PyTuple_Size(ptr %names)
  ret i64 %count
no:
  ret i64 0
}

; Of the arguments that come by name, the result and the mask; false where there is another one.
define internal i1 @names(ptr %names, ptr %args, ptr %named) {
entry:
  %count = call i64 @count_names(ptr %names)
  %out.at = getelementptr ptr, ptr @weft_names, i64 3
  %out = load ptr, ptr %out.at
  %where.at = getelementptr ptr, ptr @weft_names, i64 4
  %where = load ptr, ptr %where.at
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %yes, label %look
look:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  %is.out = icmp eq ptr %name, %out
  %is.where = icmp eq ptr %name, %where
  %known = or i1 %is.out, %is.where
  br i1 %known, label %put, label %no
put:
  %to = zext i1 %is.where to i64
  %to.at = getelementptr ptr, ptr %named, i64 %to
  %value.at = getelementptr ptr, ptr %args, i64 %k
  %value = load ptr, ptr %value.at
  store ptr %value, ptr %to.at
  %next = add i64 %k, 1
  br label %check
yes:
  ret i1 true
no:
  ret i1 false
}

; The words of an operand in a plan.
define internal ptr @operand(ptr %plan, i64 %k) {
  %begin = mul i64 %k, ${OPERAND}
  %word = add i64 %begin, ${OPERANDS}
  %at = getelementptr i64, ptr %plan, i64 %word
  ret ptr %at
}

; Note an array as an operand; false where it is none of such elements, with such flags.
define internal i1 @array(ptr %plan, i64 %k, ptr %object, ptr %dtype, i64 %size, i32 %wanted) {
entry:
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, @weft_array_type
  br i1 %is.array, label %look, label %no
look:
  %element.at = getelementptr i8, ptr %object, i64 56
  %element = load ptr, ptr %element.at
  %same = icmp eq ptr %element, %dtype
  %flags.at = getelementptr i8, ptr %object, i64 64
  %flags = load i32, ptr %flags.at
  %telling = and i32 %flags, %wanted
  %flagged = icmp eq i32 %telling, %wanted
  %dimensions.at = getelementptr i8, ptr %object, i64 24
  %dimensions = load i32, ptr %dimensions.at
  %few = icmp ule i32 %dimensions, ${DIMENSIONS}
  %one = and i1 %same, %flagged
  %all = and i1 %one, %few
  br i1 %all, label %note, label %no
note:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %data.at = getelementptr i8, ptr %object, i64 16
  %data = load ptr, ptr %data.at
  %shape.at = getelementptr i8, ptr %object, i64 32
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %object, i64 40
  %strides = load ptr, ptr %strides.at
  %ndim = zext i32 %dimensions to i64
  call void @note(ptr %op, ptr %data, i64 %ndim, ptr %shape, ptr %strides, i64 %size)
  ret i1 true
no:
  ret i1 false
}

define internal void @note(ptr %op, ptr %data, i64 %ndim, ptr %shape, ptr %strides, i64 %size) {
  %ndim.at = getelementptr i64, ptr %op, i64 1
  %shape.at = getelementptr i64, ptr %op, i64 2
  %strides.at = getelementptr i64, ptr %op, i64 3
  %size.at = getelementptr i64, ptr %op, i64 4
  %parts.at = getelementptr i64, ptr %op, i64 6
  %copied.at = getelementptr i64, ptr %op, i64 7
  store i64 0, ptr %copied.at
  store ptr %data, ptr %op
  store i64 %ndim, ptr %ndim.at
  store ptr %shape, ptr %shape.at
  store ptr %strides, ptr %strides.at
  store i64 %size, ptr %size.at
  store i64 1, ptr %parts.at
  ret void
}

; Note the inputs. 0 if a record is for them, 1 if another one may be, 2 if none is.
define internal i32 @take(ptr %record, ptr %args, i64 %count, ptr %plan, ptr %values) {
entry:
  %nin.at = getelementptr i64, ptr %record, i64 1
  %nin = load i64, ptr %nin.at
  %more = sub i64 %count, %nin
  %as.many = icmp ult i64 %more, 2
  br i1 %as.many, label %each, label %others
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %taken ]
  %done = icmp eq i64 %k, %nin
  br i1 %done, label %all, label %look
look:
  %begin = mul i64 %k, ${ARGUMENT}
  %word = add i64 %begin, ${HEADER}
  %at = getelementptr i64, ptr %record, i64 %word
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %wanted = load ptr, ptr %at
  %typed = icmp eq ptr %type, %wanted
  br i1 %typed, label %choose, label %others
choose:
  %kind.at = getelementptr i64, ptr %at, i64 1
  %kind = load i64, ptr %kind.at
  %size.at = getelementptr i64, ptr %at, i64 3
  %size = load i64, ptr %size.at
  %is.array = icmp eq i64 %kind, 0
  br i1 %is.array, label %array, label %number
array:
  %dtype.at = getelementptr i64, ptr %at, i64 2
  %dtype = load ptr, ptr %dtype.at
  %fits = call i1 @array(ptr %plan, i64 %k, ptr %object, ptr %dtype, i64 %size, i32 ${ALIGNED})
  br i1 %fits, label %taken, label %others
number:
  %place = mul i64 %k, 2
  %to = getelementptr i64, ptr %values, i64 %place
  %data = call ptr @number(ptr %object, ptr %at, ptr %to)
  %none = icmp eq ptr %data, null
  br i1 %none, label %no, label %noted
noted:
  %op = call ptr @operand(ptr %plan, i64 %k)
  call void @note(ptr %op, ptr %data, i64 0, ptr null, ptr null, i64 %size)
  br label %taken
taken:
  %known = call ptr @operand(ptr %plan, i64 %k)
  %parts.from = getelementptr i64, ptr %at, i64 4
  %parts = load i64, ptr %parts.from
  %parts.at = getelementptr i64, ptr %known, i64 6
  store i64 %parts, ptr %parts.at
  %k.next = add i64 %k, 1
  br label %each
all:
  ret i32 0
others:
  ret i32 1
no:
  ret i32 2
}

; Where a number lies in the type of its elements; null where Python has to look at it.
define internal ptr @number(ptr %object, ptr %described, ptr %to) {
entry:
  %overflow = alloca i32, align 4
  %inside = getelementptr i8, ptr %object, i64 16
  %kind.at = getelementptr i64, ptr %described, i64 1
  %kind = load i64, ptr %kind.at
  switch i64 %kind, label %no [ i64 ${RAW}, label %raw
    i64 ${FLOAT_TO_SINGLE}, label %float
    i64 ${INT_TO_INT}, label %int
    i64 ${INT_TO_DOUBLE}, label %int
    i64 ${INT_TO_SINGLE}, label %int
    i64 ${BOOL}, label %truth ]
raw:
  ret ptr %inside
float:
  %double = load double, ptr %inside
  %single = fptrunc double %double to float
  ; What becomes infinite is told by NumPy.
  %again = fpext float %single to double
  %size.before = call double @llvm.fabs.f64(double %double)
  %size.after = call double @llvm.fabs.f64(double %again)
  %finite = fcmp une double %size.before, 0x7FF0000000000000
  %infinite = fcmp oeq double %size.after, 0x7FF0000000000000
  %too.large = and i1 %finite, %infinite
  store float %single, ptr %to
  br i1 %too.large, label %no, label %yes
truth:
  %true = icmp eq ptr %object, @_Py_TrueStruct
  %byte = zext i1 %true to i8
  store i8 %byte, ptr %to
  ret ptr %to
int:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %least.at = getelementptr i64, ptr %described, i64 5
  %greatest.at = getelementptr i64, ptr %described, i64 6
  %least = load i64, ptr %least.at
  %greatest = load i64, ptr %greatest.at
  %is.64 = icmp eq i32 %over, 0
  %above = icmp sge i64 %whole, %least
  %below = icmp sle i64 %whole, %greatest
  %within = and i1 %above, %below
  %fits = and i1 %is.64, %within
  br i1 %fits, label %put, label %no
put:
  switch i64 %kind, label %as.int [ i64 ${INT_TO_DOUBLE}, label %as.double
    i64 ${INT_TO_SINGLE}, label %as.single ]
as.int:
  store i64 %whole, ptr %to
  ret ptr %to
as.double:
  %whole.double = sitofp i64 %whole to double
  store double %whole.double, ptr %to
  ret ptr %to
as.single:
  %whole.single = sitofp i64 %whole to float
  store float %whole.single, ptr %to
  ret ptr %to
yes:
  ret ptr %to
no:
  ret ptr null
}

; Broadcast the operands together: the extents of the result, and strides along each of its axes; false if that fails.
define internal i1 @shape(ptr %plan) {
entry:
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  br label %deepest
deepest:
  %k = phi i64 [ 0, %entry ], [ %k.next, %deeper ]
  %ndim = phi i64 [ 0, %entry ], [ %more, %deeper ]
  %seen = icmp eq i64 %k, %ops
  br i1 %seen, label %clear, label %deeper
deeper:
  %op.k = call ptr @operand(ptr %plan, i64 %k)
  %own.at = getelementptr i64, ptr %op.k, i64 1
  %own = load i64, ptr %own.at
  %more = call i64 @llvm.smax.i64(i64 %ndim, i64 %own)
  %k.next = add i64 %k, 1
  br label %deepest
clear:
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  store i64 %ndim, ptr %ndim.at
  br label %clearing
clearing:
  %c = phi i64 [ 0, %clear ], [ %c.next, %one ]
  %cleared = icmp eq i64 %c, %ndim
  br i1 %cleared, label %extents, label %one
one:
  %c.at = getelementptr i64, ptr %shape, i64 %c
  store i64 1, ptr %c.at
  %c.next = add i64 %c, 1
  br label %clearing
extents:
  %e = phi i64 [ 0, %clearing ], [ %e.next, %extents.next ]
  %all.extents = icmp eq i64 %e, %ops
  br i1 %all.extents, label %strides, label %axes
axes:
  %op.e = call ptr @operand(ptr %plan, i64 %e)
  %e.ndim.at = getelementptr i64, ptr %op.e, i64 1
  %e.ndim = load i64, ptr %e.ndim.at
  %e.shape.at = getelementptr i64, ptr %op.e, i64 2
  %e.shape = load ptr, ptr %e.shape.at
  %lead = sub i64 %ndim, %e.ndim
  %extents.here = getelementptr i64, ptr %shape, i64 %lead
  br label %axis
axis:
  %j = phi i64 [ 0, %axes ], [ %j.next, %axis.next ]
  %all.axes = icmp eq i64 %j, %e.ndim
  br i1 %all.axes, label %extents.next, label %compare
compare:
  %extent.at = getelementptr i64, ptr %e.shape, i64 %j
  %extent = load i64, ptr %extent.at
  %other.at = getelementptr i64, ptr %extents.here, i64 %j
  %other = load i64, ptr %other.at
  %same = icmp eq i64 %extent, %other
  %is.one = icmp eq i64 %extent, 1
  %stays = or i1 %same, %is.one
  br i1 %stays, label %axis.next, label %grow
grow:
  %was.one = icmp eq i64 %other, 1
  store i64 %extent, ptr %other.at
  br i1 %was.one, label %axis.next, label %no
axis.next:
  %j.next = add i64 %j, 1
  br label %axis
extents.next:
  %e.next = add i64 %e, 1
  br label %extents
strides:
  %s = phi i64 [ 0, %extents ], [ %s.next, %strides.next ]
  %all.strides = icmp eq i64 %s, %ops
  br i1 %all.strides, label %yes, label %steps
steps:
  %op.s = call ptr @operand(ptr %plan, i64 %s)
  %s.ndim.at = getelementptr i64, ptr %op.s, i64 1
  %s.ndim = load i64, ptr %s.ndim.at
  %s.shape.at = getelementptr i64, ptr %op.s, i64 2
  %s.shape = load ptr, ptr %s.shape.at
  %s.strides.at = getelementptr i64, ptr %op.s, i64 3
  %s.strides = load ptr, ptr %s.strides.at
  %s.to = getelementptr i64, ptr %op.s, i64 ${STRIDES}
  %s.lead = sub i64 %ndim, %s.ndim
  br label %step
step:
  %a = phi i64 [ 0, %steps ], [ %a.next, %put ]
  %all.steps = icmp eq i64 %a, %ndim
  br i1 %all.steps, label %strides.next, label %which
which:
  %behind = sub i64 %a, %s.lead
  %absent = icmp slt i64 %behind, 0
  br i1 %absent, label %put, label %present
present:
  %a.extent.at = getelementptr i64, ptr %s.shape, i64 %behind
  %a.extent = load i64, ptr %a.extent.at
  %a.stride.at = getelementptr i64, ptr %s.strides, i64 %behind
  %a.stride = load i64, ptr %a.stride.at
  %a.one = icmp eq i64 %a.extent, 1
  %a.used = select i1 %a.one, i64 0, i64 %a.stride
  br label %put
put:
  %stride = phi i64 [ 0, %which ], [ %a.used, %present ]
  %to.at = getelementptr i64, ptr %s.to, i64 %a
  store i64 %stride, ptr %to.at
  %a.next = add i64 %a, 1
  br label %step
strides.next:
  %s.next = add i64 %s, 1
  br label %strides
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an operand has other extents than the result.
define internal i1 @is_spread(ptr %plan, i64 %k) {
entry:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %own.at = getelementptr i64, ptr %op, i64 1
  %own = load i64, ptr %own.at
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %from.at = getelementptr i64, ptr %op, i64 2
  %from = load ptr, ptr %from.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %deep = icmp eq i64 %own, %ndim
  br i1 %deep, label %check, label %yes
check:
  %a = phi i64 [ 0, %entry ], [ %next, %look ]
  %done = icmp eq i64 %a, %ndim
  br i1 %done, label %no, label %look
look:
  %own.extent.at = getelementptr i64, ptr %from, i64 %a
  %own.extent = load i64, ptr %own.extent.at
  %extent.at = getelementptr i64, ptr %shape, i64 %a
  %extent = load i64, ptr %extent.at
  %next = add i64 %a, 1
  %same = icmp eq i64 %own.extent, %extent
  br i1 %same, label %check, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Sort the axes, the innermost first, as NumPy's iterator does: an axis goes inwards past others along which no operand
; has lesser steps.
define internal void @order(ptr %plan) {
entry:
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %order = getelementptr i64, ptr %plan, i64 ${ORDER}
  br label %fill
fill:
  %f = phi i64 [ 0, %entry ], [ %f.next, %put ]
  %filled = icmp eq i64 %f, %ndim
  br i1 %filled, label %outer, label %put
put:
  %f.next = add i64 %f, 1
  %axis = sub i64 %ndim, %f.next
  %f.at = getelementptr i64, ptr %order, i64 %f
  store i64 %axis, ptr %f.at
  br label %fill
outer:
  %i = phi i64 [ 1, %fill ], [ %i.next, %moved ]
  %sorted = icmp sge i64 %i, %ndim
  br i1 %sorted, label %done, label %start
start:
  %mine.at = getelementptr i64, ptr %order, i64 %i
  %mine = load i64, ptr %mine.at
  br label %inner
inner:
  %j = phi i64 [ %i, %start ], [ %before, %passed ]
  %place = phi i64 [ %i, %start ], [ %place.next, %passed ]
  %first = icmp eq i64 %j, 0
  br i1 %first, label %shift, label %look
look:
  %before = sub i64 %j, 1
  %its.at = getelementptr i64, ptr %order, i64 %before
  %its = load i64, ptr %its.at
  br label %each
each:
  %k = phi i64 [ 0, %look ], [ %k.next, %each.next ]
  %any = phi i1 [ false, %look ], [ %any.next, %each.next ]
  %lesser = phi i1 [ true, %look ], [ %lesser.next, %each.next ]
  %all = icmp eq i64 %k, %ops
  br i1 %all, label %judge, label %steps
steps:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %strides = getelementptr i64, ptr %op, i64 ${STRIDES}
  %mine.step.at = getelementptr i64, ptr %strides, i64 %mine
  %its.step.at = getelementptr i64, ptr %strides, i64 %its
  %mine.signed = load i64, ptr %mine.step.at
  %its.signed = load i64, ptr %its.step.at
  %mine.step = call i64 @llvm.abs.i64(i64 %mine.signed, i1 false)
  %its.step = call i64 @llvm.abs.i64(i64 %its.signed, i1 false)
  %mine.some = icmp ne i64 %mine.step, 0
  %its.some = icmp ne i64 %its.step, 0
  %both = and i1 %mine.some, %its.some
  br label %each.next
each.next:
  %is.less = icmp slt i64 %mine.step, %its.step
  %agrees = select i1 %both, i1 %is.less, i1 true
  %any.next = or i1 %any, %both
  %lesser.next = and i1 %lesser, %agrees
  %k.next = add i64 %k, 1
  br label %each
judge:
  %stop = xor i1 %lesser, true
  %told = and i1 %any, %stop
  br i1 %told, label %shift, label %passed
passed:
  %place.next = select i1 %any, i64 %before, i64 %place
  br label %inner
shift:
  br label %shifting
shifting:
  %s = phi i64 [ %i, %shift ], [ %s.less, %move ]
  %arrived = icmp eq i64 %s, %place
  br i1 %arrived, label %moved, label %move
move:
  %s.less = sub i64 %s, 1
  %s.from = getelementptr i64, ptr %order, i64 %s.less
  %s.axis = load i64, ptr %s.from
  %s.to = getelementptr i64, ptr %order, i64 %s
  store i64 %s.axis, ptr %s.to
  br label %shifting
moved:
  %place.at = getelementptr i64, ptr %order, i64 %place
  store i64 %mine, ptr %place.at
  %i.next = add i64 %i, 1
  br label %outer
done:
  ret void
}

; Strides of a new result, in the order of the axes; whether that is C's.
define internal i1 @result_strides(ptr %plan, ptr %op, i64 %size) {
entry:
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %order = getelementptr i64, ptr %plan, i64 ${ORDER}
  %strides = getelementptr i64, ptr %op, i64 ${STRIDES}
  call void @note(ptr %op, ptr null, i64 %ndim, ptr %shape, ptr %strides, i64 %size)
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %next, %put ]
  %step = phi i64 [ %size, %entry ], [ %larger, %put ]
  %usual = phi i1 [ true, %entry ], [ %still, %put ]
  %done = icmp eq i64 %i, %ndim
  br i1 %done, label %tell, label %put
put:
  %axis.at = getelementptr i64, ptr %order, i64 %i
  %axis = load i64, ptr %axis.at
  %next = add i64 %i, 1
  %usual.axis = sub i64 %ndim, %next
  %same = icmp eq i64 %axis, %usual.axis
  %still = and i1 %usual, %same
  %extent.at = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent.at
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  store i64 %step, ptr %stride.at
  %larger = mul i64 %step, %extent
  br label %check
tell:
  ret i1 %usual
}

; Whether a result that is there has each of its elements once, and meets no input but one that lies as it does.
define internal i1 @is_apart(ptr %plan, i64 %result) {
entry:
  %op = call ptr @operand(ptr %plan, i64 %result)
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %order = getelementptr i64, ptr %plan, i64 ${ORDER}
  %strides = getelementptr i64, ptr %op, i64 ${STRIDES}
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %span = phi i64 [ %size, %entry ], [ %wider, %on ]
  %done = icmp eq i64 %i, %ndim
  br i1 %done, label %inputs, label %look
look:
  %axis.at = getelementptr i64, ptr %order, i64 %i
  %axis = load i64, ptr %axis.at
  %extent.at = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent.at
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.at
  %step = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %single = icmp sle i64 %extent, 1
  %clear = icmp sge i64 %step, %span
  %fine = or i1 %single, %clear
  br i1 %fine, label %on, label %no
on:
  %steps = sub i64 %extent, 1
  %reach = mul i64 %step, %steps
  %far = add i64 %span, %reach
  %wider = select i1 %single, i64 %span, i64 %far
  %next = add i64 %i, 1
  br label %check
inputs:
  %low = call ptr @end(ptr %plan, i64 %result, i1 false)
  %high = call ptr @end(ptr %plan, i64 %result, i1 true)
  br label %input
input:
  %k = phi i64 [ 0, %inputs ], [ %k.next, %k.on ]
  %all = icmp eq i64 %k, %result
  br i1 %all, label %yes, label %compare
compare:
  %k.next = add i64 %k, 1
  %k.low = call ptr @end(ptr %plan, i64 %k, i1 false)
  %k.high = call ptr @end(ptr %plan, i64 %k, i1 true)
  %left = icmp ult ptr %low, %k.high
  %right = icmp ult ptr %k.low, %high
  %meet = and i1 %left, %right
  br i1 %meet, label %alike, label %k.on
alike:
  %other = call ptr @operand(ptr %plan, i64 %k)
  %same = call i1 @lie_alike(ptr %op, ptr %other, i64 %ndim)
  br i1 %same, label %k.on, label %no
k.on:
  br label %input
yes:
  ret i1 true
no:
  ret i1 false
}

; Where the memory of an operand begins or ends, if it has any elements.
define internal ptr @end(ptr %plan, i64 %k, i1 %upper) {
entry:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %data = load ptr, ptr %op
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %strides = getelementptr i64, ptr %op, i64 ${STRIDES}
  %start = select i1 %upper, i64 %size, i64 0
  br label %check
check:
  %a = phi i64 [ 0, %entry ], [ %next, %add ]
  %offset = phi i64 [ %start, %entry ], [ %further, %add ]
  %done = icmp eq i64 %a, %ndim
  br i1 %done, label %tell, label %add
add:
  %extent.at = getelementptr i64, ptr %shape, i64 %a
  %extent = load i64, ptr %extent.at
  %stride.at = getelementptr i64, ptr %strides, i64 %a
  %stride = load i64, ptr %stride.at
  %steps = sub i64 %extent, 1
  %reach = mul i64 %stride, %steps
  %up = icmp sgt i64 %reach, 0
  %counts = icmp eq i1 %up, %upper
  %more = select i1 %counts, i64 %reach, i64 0
  %further = add i64 %offset, %more
  %next = add i64 %a, 1
  br label %check
tell:
  %at = getelementptr i8, ptr %data, i64 %offset
  ret ptr %at
}

define internal i1 @lie_alike(ptr %a, ptr %b, i64 %ndim) {
entry:
  %a.data = load ptr, ptr %a
  %b.data = load ptr, ptr %b
  %a.size.at = getelementptr i64, ptr %a, i64 4
  %b.size.at = getelementptr i64, ptr %b, i64 4
  %a.size = load i64, ptr %a.size.at
  %b.size = load i64, ptr %b.size.at
  %same.data = icmp eq ptr %a.data, %b.data
  %same.size = icmp eq i64 %a.size, %b.size
  %same = and i1 %same.data, %same.size
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %look ]
  %so.far = phi i1 [ %same, %entry ], [ %still, %look ]
  %done = icmp eq i64 %k, %ndim
  br i1 %done, label %tell, label %look
look:
  %word = add i64 %k, ${STRIDES}
  %a.at = getelementptr i64, ptr %a, i64 %word
  %b.at = getelementptr i64, ptr %b, i64 %word
  %a.stride = load i64, ptr %a.at
  %b.stride = load i64, ptr %b.at
  %equal = icmp eq i64 %a.stride, %b.stride
  %still = and i1 %so.far, %equal
  %next = add i64 %k, 1
  br label %check
tell:
  ret i1 %so.far
}

; Make one axis of those that all operands go through in even steps; how many elements there are in all.
define internal i64 @merge(ptr %plan) {
entry:
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %ndim.at = getelementptr i64, ptr %plan, i64 2
  %ndim = load i64, ptr %ndim.at
  %shape = getelementptr i64, ptr %plan, i64 ${SHAPE}
  %order = getelementptr i64, ptr %plan, i64 ${ORDER}
  %extents = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  store i64 1, ptr %extents
  br label %axis
axis:
  %i = phi i64 [ 0, %entry ], [ %i.next, %axis.next ]
  %dims = phi i64 [ 0, %entry ], [ %dims.next, %axis.next ]
  %total = phi i64 [ 1, %entry ], [ %more, %axis.next ]
  %done = icmp eq i64 %i, %ndim
  br i1 %done, label %count, label %look
look:
  %axis.at = getelementptr i64, ptr %order, i64 %i
  %this = load i64, ptr %axis.at
  %extent.at = getelementptr i64, ptr %shape, i64 %this
  %extent = load i64, ptr %extent.at
  %more = mul i64 %total, %extent
  %single = icmp eq i64 %extent, 1
  br i1 %single, label %axis.next, label %try
try:
  %none = icmp eq i64 %dims, 0
  br i1 %none, label %push, label %compare
compare:
  %last = sub i64 %dims, 1
  %last.at = getelementptr i64, ptr %extents, i64 %last
  %last.extent = load i64, ptr %last.at
  br label %each
each:
  %k = phi i64 [ 0, %compare ], [ %k.next, %step ]
  %all = icmp eq i64 %k, %ops
  br i1 %all, label %join, label %step
step:
  %op.k = call ptr @operand(ptr %plan, i64 %k)
  %k.word = add i64 %this, ${STRIDES}
  %k.at = getelementptr i64, ptr %op.k, i64 %k.word
  %k.stride = load i64, ptr %k.at
  %k.last.word = add i64 %last, ${STEPS}
  %k.last.at = getelementptr i64, ptr %op.k, i64 %k.last.word
  %k.last = load i64, ptr %k.last.at
  %reach = mul i64 %k.last, %last.extent
  %even = icmp eq i64 %reach, %k.stride
  %k.next = add i64 %k, 1
  br i1 %even, label %each, label %push
join:
  %joined = mul i64 %last.extent, %extent
  store i64 %joined, ptr %last.at
  br label %axis.next
push:
  %new.at = getelementptr i64, ptr %extents, i64 %dims
  store i64 %extent, ptr %new.at
  br label %pushing
pushing:
  %p = phi i64 [ 0, %push ], [ %p.next, %put ]
  %pushed = icmp eq i64 %p, %ops
  br i1 %pushed, label %grown, label %put
put:
  %op.p = call ptr @operand(ptr %plan, i64 %p)
  %p.word = add i64 %this, ${STRIDES}
  %p.at = getelementptr i64, ptr %op.p, i64 %p.word
  %p.stride = load i64, ptr %p.at
  %p.to.word = add i64 %dims, ${STEPS}
  %p.to = getelementptr i64, ptr %op.p, i64 %p.to.word
  store i64 %p.stride, ptr %p.to
  %p.next = add i64 %p, 1
  br label %pushing
grown:
  %one.more = add i64 %dims, 1
  br label %axis.next
axis.next:
  %dims.next = phi i64 [ %dims, %look ], [ %dims, %join ], [ %one.more, %grown ]
  %i.next = add i64 %i, 1
  br label %axis
count:
  %dims.at = getelementptr i64, ptr %plan, i64 3
  store i64 %dims, ptr %dims.at
  br label %row
row:
  %d = phi i64 [ 1, %count ], [ %d.next, %multiply ]
  %rows = phi i64 [ 1, %count ], [ %rows.next, %multiply ]
  %counted = icmp sge i64 %d, %dims
  br i1 %counted, label %tell, label %multiply
multiply:
  %d.at = getelementptr i64, ptr %extents, i64 %d
  %d.extent = load i64, ptr %d.at
  %rows.next = mul i64 %rows, %d.extent
  %d.next = add i64 %d, 1
  br label %row
tell:
  %rows.at = getelementptr i64, ptr %plan, i64 4
  store i64 %rows, ptr %rows.at
  ret i64 %total
}

; How each operand goes along the innermost axis: not at all, from element to element, or by other steps. Single
; elements are arrays of one, so that numbers need no code of their own.
define internal i64 @pattern(ptr %plan, i1 %masked) {
entry:
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %dims.at = getelementptr i64, ptr %plan, i64 3
  %dims = load i64, ptr %dims.at
  %single = icmp eq i64 %dims, 0
  %result = sub i64 %ops, 1
  %first.array = sub i64 %result, 1
  %moved = select i1 %masked, i64 %first.array, i64 %result
  %start = select i1 %masked, i64 ${MASKED}, i64 0
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %pattern = phi i64 [ %start, %entry ], [ %larger, %put ]
  %done = icmp eq i64 %k, %ops
  br i1 %done, label %tell, label %look
look:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %step.at = getelementptr i64, ptr %op, i64 ${STEPS}
  br i1 %single, label %alone, label %moves
alone:
  store i64 %size, ptr %step.at
  br label %put
moves:
  %copied.at = getelementptr i64, ptr %op, i64 7
  %copied.word = load i64, ptr %copied.at
  %copied = icmp ne i64 %copied.word, 0
  %own.step = load i64, ptr %step.at
  %step = select i1 %copied, i64 %size, i64 %own.step
  %stays = icmp eq i64 %step, 0
  ; Masks and results are arrays in any case.
  %is.input = icmp slt i64 %k, %moved
  %uniform = and i1 %stays, %is.input
  %dense = icmp eq i64 %step, %size
  %strided = select i1 %dense, i64 ${DENSE}, i64 ${STRIDED}
  %kind.moving = select i1 %uniform, i64 ${UNIFORM}, i64 %strided
  br label %put
put:
  %kind = phi i64 [ ${DENSE}, %alone ], [ %kind.moving, %moves ]
  %kind.at = getelementptr i64, ptr %op, i64 5
  store i64 %kind, ptr %kind.at
  %shift = mul i64 %k, 2
  %bits = shl i64 %kind, %shift
  %larger = or i64 %pattern, %bits
  %next = add i64 %k, 1
  br label %check
tell:
  ret i64 %pattern
}

; The words of the code for a pattern; null without any.
define internal ptr @line(ptr %lines, i64 %pattern) {
entry:
  br label %try
try:
  %at = phi ptr [ %lines, %entry ], [ %line, %look ]
  %line = load ptr, ptr %at
  %none = icmp eq ptr %line, null
  br i1 %none, label %tell, label %look
look:
  %for.at = getelementptr i64, ptr %line, i64 1
  %for = load i64, ptr %for.at
  %same = icmp eq i64 %for, %pattern
  br i1 %same, label %tell, label %try
tell:
  ret ptr %line
}

define internal i32 @all(ptr %plan, ptr %unused) {
entry:
  %rows.at = getelementptr i64, ptr %plan, i64 4
  %rows = load i64, ptr %rows.at
  %blocks.at = getelementptr i64, ptr %plan, i64 5
  %blocks = load i64, ptr %blocks.at
  %in.rows = icmp eq i64 %blocks, 0
  br i1 %in.rows, label %by.row, label %by.block
by.row:
  %result = call i32 @part(ptr %plan, i64 0, i64 %rows, i32 0)
  ret i32 %result
by.block:
  %block.result = call i32 @part_in_blocks(ptr %plan, i64 0, i64 %rows, i32 0)
  ret i32 %block.result
}

; Whether blocks are made, as a number: 0 if not, 1 of parts of rows, as inputs go in steps that are copied, 2 of several
; short rows, and -1 where results of these would not lie evenly.
define internal i64 @blocks(ptr %plan, i1 %short, i1 %copies) {
entry:
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %result = sub i64 %ops, 1
  %dims.at = getelementptr i64, ptr %plan, i64 3
  %dims = load i64, ptr %dims.at
  %extents = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  %row = load i64, ptr %extents
  %mode.at = getelementptr i64, ptr %plan, i64 5
  store i64 0, ptr %mode.at
  %single = icmp eq i64 %dims, 0
  br i1 %single, label %none, label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %note ]
  %any = phi i1 [ %short, %entry ], [ %some, %note ]
  %done = icmp eq i64 %k, %ops
  br i1 %done, label %judge, label %look
look:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %step.at = getelementptr i64, ptr %op, i64 ${STEPS}
  %step = load i64, ptr %step.at
  %is.result = icmp eq i64 %k, %result
  %moves = icmp ne i64 %step, 0
  %sparse = icmp ne i64 %step, %size
  %goes = and i1 %moves, %sparse
  %steps = and i1 %goes, %copies
  br i1 %short, label %compare, label %tell
compare:
  %row.step.at = getelementptr i64, ptr %step.at, i64 1
  %row.step = load i64, ptr %row.step.at
  %reach = mul i64 %step, %row
  %uneven = icmp ne i64 %reach, %row.step
  %lost = and i1 %uneven, %is.result
  br i1 %lost, label %no, label %tell
tell:
  %apart = phi i1 [ false, %look ], [ %uneven, %compare ]
  %wanted = or i1 %apart, %steps
  %is.input = xor i1 %is.result, true
  %copied = and i1 %wanted, %is.input
  br label %note
note:
  %some = or i1 %any, %copied
  %copied.word = zext i1 %copied to i64
  %copied.at = getelementptr i64, ptr %op, i64 7
  store i64 %copied.word, ptr %copied.at
  %next = add i64 %k, 1
  br label %check
judge:
  br i1 %any, label %count, label %none
count:
  ; Along the axis of the blocks, and then the rows of blocks.
  %axis = zext i1 %short to i64
  %mode = add i64 %axis, 1
  store i64 %mode, ptr %mode.at
  %length = call i64 @block_length(ptr %plan)
  %extent.at = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %extent.at
  %less = sub i64 %length, 1
  %rounded = add i64 %extent, %less
  %in.row = udiv i64 %rounded, %length
  %in.row.at = getelementptr i64, ptr %plan, i64 7
  store i64 %in.row, ptr %in.row.at
  br label %outer
outer:
  %d = phi i64 [ %mode, %count ], [ %d.next, %multiply ]
  %units = phi i64 [ %in.row, %count ], [ %units.next, %multiply ]
  %counted = icmp sge i64 %d, %dims
  br i1 %counted, label %made, label %multiply
multiply:
  %d.at = getelementptr i64, ptr %extents, i64 %d
  %d.extent = load i64, ptr %d.at
  %units.next = mul i64 %units, %d.extent
  %d.next = add i64 %d, 1
  br label %outer
made:
  %units.at = getelementptr i64, ptr %plan, i64 4
  store i64 %units, ptr %units.at
  ret i64 %mode
none:
  ret i64 0
no:
  ret i64 -1
}

; How many steps along its axis a block has.
define internal i64 @block_length(ptr %plan) {
entry:
  %mode.at = getelementptr i64, ptr %plan, i64 5
  %mode = load i64, ptr %mode.at
  %row.at = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  %row = load i64, ptr %row.at
  %parts = icmp eq i64 %mode, 1
  %each = select i1 %parts, i64 1, i64 %row
  %length = udiv i64 ${BLOCK}, %each
  ret i64 %length
}

; The same as `part` for blocks, each as one row.
define internal i32 @part_in_blocks(ptr %plan, i64 %begin, i64 %end, i32 %worker) {
entry:
  %slots = alloca [${SLOTS} x i64], align 16
  %pointers = alloca [${OPERAND_COUNT} x ptr], align 16
  %frame = alloca [2 x i64], align 16
  %function = load ptr, ptr %plan
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %dims.at = getelementptr i64, ptr %plan, i64 3
  %dims = load i64, ptr %dims.at
  %mode.at = getelementptr i64, ptr %plan, i64 5
  %mode = load i64, ptr %mode.at
  %in.row.at = getelementptr i64, ptr %plan, i64 7
  %in.row = load i64, ptr %in.row.at
  %extents = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  %row = load i64, ptr %extents
  %axis = sub i64 %mode, 1
  %extent.at = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %extent.at
  %length = call i64 @block_length(ptr %plan)
  %parts.of.rows = icmp eq i64 %mode, 1
  store [2 x i64] zeroinitializer, ptr %frame
  br label %measure
measure:
  ; As much memory as copies take: a thread's stack may be small.
  %q = phi i64 [ 0, %entry ], [ %q.next, %add ]
  %bytes = phi i64 [ 0, %entry ], [ %more.bytes, %add ]
  %measured = icmp eq i64 %q, %ops
  br i1 %measured, label %reserve, label %add
add:
  %q.op = call ptr @operand(ptr %plan, i64 %q)
  %q.bytes = call i64 @buffer_bytes(ptr %q.op)
  %more.bytes = add i64 %bytes, %q.bytes
  %q.next = add i64 %q, 1
  br label %measure
reserve:
  %buffers = alloca i8, i64 %bytes, align 64
  br label %block
block:
  %b = phi i64 [ %begin, %reserve ], [ %b.next, %advance ]
  %outer.row = udiv i64 %b, %in.row
  %place = urem i64 %b, %in.row
  %first = mul i64 %place, %length
  %left = sub i64 %extent, %first
  %here = call i64 @llvm.smin.i64(i64 %left, i64 %length)
  %whole = mul i64 %here, %row
  %elements = select i1 %parts.of.rows, i64 %here, i64 %whole
  %copy.row = select i1 %parts.of.rows, i64 %here, i64 %row
  %copy.rows = select i1 %parts.of.rows, i64 1, i64 %here
  br label %start
start:
  %s = phi i64 [ 0, %block ], [ %s.next, %started ]
  %all.started = icmp eq i64 %s, %ops
  br i1 %all.started, label %digits, label %started
started:
  %s.op = call ptr @operand(ptr %plan, i64 %s)
  %s.data = load ptr, ptr %s.op
  %s.at = getelementptr ptr, ptr %pointers, i64 %s
  store ptr %s.data, ptr %s.at
  %s.next = add i64 %s, 1
  br label %start
digits:
  ; Where the block begins: along its axis, and along the axes around that.
  call void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %axis, i64 %first)
  br label %digit
digit:
  %d = phi i64 [ %mode, %digits ], [ %d.next, %digit.on ]
  %rest = phi i64 [ %outer.row, %digits ], [ %rest.next, %digit.on ]
  %placed = icmp sge i64 %d, %dims
  br i1 %placed, label %operands, label %digit.on
digit.on:
  %d.extent.at = getelementptr i64, ptr %extents, i64 %d
  %d.extent = load i64, ptr %d.extent.at
  %rest.next = udiv i64 %rest, %d.extent
  %d.digit = urem i64 %rest, %d.extent
  call void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %d, i64 %d.digit)
  %d.next = add i64 %d, 1
  br label %digit
operands:
  %k = phi i64 [ 0, %digit ], [ %k.next, %laid ]
  %slot = phi ptr [ %slots, %digit ], [ %slot.next, %laid ]
  %buffer = phi ptr [ %buffers, %digit ], [ %buffer.next, %laid ]
  %all = icmp eq i64 %k, %ops
  br i1 %all, label %run, label %lay
lay:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %kind.at = getelementptr i64, ptr %op, i64 5
  %kind = load i64, ptr %kind.at
  %step.at = getelementptr i64, ptr %op, i64 ${STEPS}
  %step = load i64, ptr %step.at
  %row.step.at = getelementptr i64, ptr %step.at, i64 1
  %row.step = load i64, ptr %row.step.at
  %from.at = getelementptr ptr, ptr %pointers, i64 %k
  %from = load ptr, ptr %from.at
  %copied.at = getelementptr i64, ptr %op, i64 7
  %copied = load i64, ptr %copied.at
  %is.copied = icmp ne i64 %copied, 0
  br i1 %is.copied, label %copy, label %direct
copy:
  ; What is the same in all short rows is there from the first block of them on.
  %moves = icmp ne i64 %row.step, 0
  %is.begin = icmp eq i64 %b, %begin
  %is.first = icmp eq i64 %place, 0
  %fresh = or i1 %is.begin, %is.first
  %other = or i1 %fresh, %moves
  %anew = or i1 %other, %parts.of.rows
  br i1 %anew, label %gather, label %array
gather:
  call void @gather(ptr %from, i64 %step, i64 %row.step, i64 %copy.row, i64 %copy.rows, i64 %size, ptr %buffer)
  br label %array
direct:
  %is.number = icmp eq i64 %kind, ${UNIFORM}
  br i1 %is.number, label %number, label %array
number:
  call void @value(ptr %op, ptr %from, ptr %slot)
  %parts.at = getelementptr i64, ptr %op, i64 6
  %parts = load i64, ptr %parts.at
  %behind.number = getelementptr i64, ptr %slot, i64 %parts
  br label %laid
array:
  %pointer = phi ptr [ %buffer, %copy ], [ %buffer, %gather ], [ %from, %direct ]
  %length.at = getelementptr i64, ptr %slot, i64 1
  %stride.at = getelementptr i64, ptr %slot, i64 2
  store ptr %pointer, ptr %slot
  store i64 %elements, ptr %length.at
  store i64 %step, ptr %stride.at
  %with.stride = icmp eq i64 %kind, ${STRIDED}
  %words = select i1 %with.stride, i64 3, i64 2
  %behind.array = getelementptr i64, ptr %slot, i64 %words
  br label %laid
laid:
  %slot.next = phi ptr [ %behind.number, %number ], [ %behind.array, %array ]
  %used = call i64 @buffer_bytes(ptr %op)
  %buffer.next = getelementptr i8, ptr %buffer, i64 %used
  %k.next = add i64 %k, 1
  br label %operands
run:
  call void %function(ptr %slots, ptr %frame)
  %error.at = getelementptr i64, ptr %frame, i64 1
  %error = load i64, ptr %error.at
  %fine = icmp eq i64 %error, 0
  br i1 %fine, label %advance, label %failed
failed:
  %shared.at = getelementptr i64, ptr %plan, i64 6
  %shared = load ptr, ptr %shared.at
  %shared.error.at = getelementptr i64, ptr %shared, i64 1
  store i64 %error, ptr %shared.error.at
  ret i32 1
advance:
  %b.next = add i64 %b, 1
  %over = icmp sge i64 %b.next, %end
  br i1 %over, label %done, label %block
done:
  ret i32 0
}

; How much memory the copies of an operand take.
define internal i64 @buffer_bytes(ptr %op) {
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %copied.at = getelementptr i64, ptr %op, i64 7
  %copied = load i64, ptr %copied.at
  %elements = mul i64 %copied, ${BLOCK}
  %bytes = mul i64 %elements, %size
  ret i64 %bytes
}

; Copy some rows one behind the other: elements of so many bytes, by two steps.
define internal void @gather(ptr %from, i64 %step, i64 %row.step, i64 %row, i64 %rows, i64 %size, ptr %to) {
entry:
  ; Of 8 bytes, every second element, and all from the last to the first, are loaded as vectors, which do not go beyond
  ; the last one.
  %d.most = and i64 %row, -4
  %d.many = icmp sge i64 %row, 4
  %row.less = sub i64 %row, 1
  %even.most = and i64 %row.less, -4
  %even.many = icmp sge i64 %row.less, 4
  %is.even = icmp eq i64 %step, 16
  %is.back = icmp eq i64 %step, -8
  %evens = and i1 %is.even, %even.many
  %backs = and i1 %is.back, %d.many
  %by.four = select i1 %d.many, i64 0, i64 1
  %by.vector = select i1 %backs, i64 2, i64 %by.four
  %doubles = select i1 %evens, i64 3, i64 %by.vector
  %is.double = icmp eq i64 %size, 8
  %is.single = icmp eq i64 %size, 4
  %others = select i1 %is.single, i64 4, i64 5
  %way = select i1 %is.double, i64 %doubles, i64 %others
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %j.next, %outer.next ]
  %at = phi ptr [ %from, %entry ], [ %at.next, %outer.next ]
  %put = phi ptr [ %to, %entry ], [ %put.row, %outer.next ]
  %all = icmp eq i64 %j, %rows
  br i1 %all, label %done, label %which
which:
  switch i64 %way, label %bytes [ i64 0, label %double.four
    i64 1, label %double.rest
    i64 2, label %double.back
    i64 3, label %double.even
    i64 4, label %single ]
double.even:
  %e = phi i64 [ 0, %which ], [ %e.next, %double.even ]
  %e.offset = mul i64 %e, 16
  %e.at = getelementptr i8, ptr %at, i64 %e.offset
  %e.pairs = load <8 x i64>, ptr %e.at, align 1
  %e.first = shufflevector <8 x i64> %e.pairs, <8 x i64> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %e.put = getelementptr i64, ptr %put, i64 %e
  store <4 x i64> %e.first, ptr %e.put, align 8
  %e.next = add i64 %e, 4
  %e.further = getelementptr i8, ptr %e.at, i64 64
  %e.more = icmp slt i64 %e.next, %even.most
  br i1 %e.more, label %double.even, label %double.rest
double.back:
  %r = phi i64 [ 0, %which ], [ %r.next, %double.back ]
  %r.offset = mul i64 %r, -8
  %r.at = getelementptr i8, ptr %at, i64 %r.offset
  %r.from = getelementptr i8, ptr %r.at, i64 -24
  %r.values = load <4 x i64>, ptr %r.from, align 1
  %r.turned = shufflevector <4 x i64> %r.values, <4 x i64> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %r.put = getelementptr i64, ptr %put, i64 %r
  store <4 x i64> %r.turned, ptr %r.put, align 8
  %r.next = add i64 %r, 4
  %r.further = getelementptr i8, ptr %r.at, i64 -32
  %r.more = icmp slt i64 %r.next, %d.most
  br i1 %r.more, label %double.back, label %double.rest
double.four:
  %d4 = phi i64 [ 0, %which ], [ %d4.next, %double.four ]
  %d4.from = phi ptr [ %at, %which ], [ %d4.further, %double.four ]
  %d4.value.0 = load i64, ptr %d4.from, align 1
  %d4.from.1 = getelementptr i8, ptr %d4.from, i64 %step
  %d4.value.1 = load i64, ptr %d4.from.1, align 1
  %d4.from.2 = getelementptr i8, ptr %d4.from.1, i64 %step
  %d4.value.2 = load i64, ptr %d4.from.2, align 1
  %d4.from.3 = getelementptr i8, ptr %d4.from.2, i64 %step
  %d4.value.3 = load i64, ptr %d4.from.3, align 1
  %d4.further = getelementptr i8, ptr %d4.from.3, i64 %step
  %d4.to.0 = getelementptr i64, ptr %put, i64 %d4
  store i64 %d4.value.0, ptr %d4.to.0
  %d4.to.1 = getelementptr i64, ptr %d4.to.0, i64 1
  store i64 %d4.value.1, ptr %d4.to.1
  %d4.to.2 = getelementptr i64, ptr %d4.to.0, i64 2
  store i64 %d4.value.2, ptr %d4.to.2
  %d4.to.3 = getelementptr i64, ptr %d4.to.0, i64 3
  store i64 %d4.value.3, ptr %d4.to.3
  %d4.next = add i64 %d4, 4
  %d4.more = icmp slt i64 %d4.next, %d.most
  br i1 %d4.more, label %double.four, label %double.rest
double.rest:
  %d.begin = phi i64 [ 0, %which ], [ %d.most, %double.four ], [ %even.most, %double.even ], [ %d.most, %double.back ]
  %d.from = phi ptr [ %at, %which ], [ %d4.further, %double.four ], [ %e.further, %double.even ], [ %r.further, %double.back ]
  %d.some = icmp slt i64 %d.begin, %row
  br i1 %d.some, label %double.one, label %outer.next
double.one:
  %d = phi i64 [ %d.begin, %double.rest ], [ %d.next, %double.one ]
  %d.at = phi ptr [ %d.from, %double.rest ], [ %d.further, %double.one ]
  %d.value = load i64, ptr %d.at, align 1
  %d.put = getelementptr i64, ptr %put, i64 %d
  store i64 %d.value, ptr %d.put
  %d.further = getelementptr i8, ptr %d.at, i64 %step
  %d.next = add i64 %d, 1
  %d.done = icmp eq i64 %d.next, %row
  br i1 %d.done, label %outer.next, label %double.one
single:
  %s.most = and i64 %row, -4
  %s.many = icmp sge i64 %row, 4
  br i1 %s.many, label %single.four, label %single.rest
single.four:
  %s4 = phi i64 [ 0, %single ], [ %s4.next, %single.four ]
  %s4.from = phi ptr [ %at, %single ], [ %s4.further, %single.four ]
  %s4.value.0 = load i32, ptr %s4.from, align 1
  %s4.from.1 = getelementptr i8, ptr %s4.from, i64 %step
  %s4.value.1 = load i32, ptr %s4.from.1, align 1
  %s4.from.2 = getelementptr i8, ptr %s4.from.1, i64 %step
  %s4.value.2 = load i32, ptr %s4.from.2, align 1
  %s4.from.3 = getelementptr i8, ptr %s4.from.2, i64 %step
  %s4.value.3 = load i32, ptr %s4.from.3, align 1
  %s4.further = getelementptr i8, ptr %s4.from.3, i64 %step
  %s4.to.0 = getelementptr i32, ptr %put, i64 %s4
  store i32 %s4.value.0, ptr %s4.to.0
  %s4.to.1 = getelementptr i32, ptr %s4.to.0, i64 1
  store i32 %s4.value.1, ptr %s4.to.1
  %s4.to.2 = getelementptr i32, ptr %s4.to.0, i64 2
  store i32 %s4.value.2, ptr %s4.to.2
  %s4.to.3 = getelementptr i32, ptr %s4.to.0, i64 3
  store i32 %s4.value.3, ptr %s4.to.3
  %s4.next = add i64 %s4, 4
  %s4.more = icmp slt i64 %s4.next, %s.most
  br i1 %s4.more, label %single.four, label %single.rest
single.rest:
  %s.begin = phi i64 [ 0, %single ], [ %s.most, %single.four ]
  %s.from = phi ptr [ %at, %single ], [ %s4.further, %single.four ]
  %s.some = icmp slt i64 %s.begin, %row
  br i1 %s.some, label %single.one, label %outer.next
single.one:
  %s = phi i64 [ %s.begin, %single.rest ], [ %s.next, %single.one ]
  %s.at = phi ptr [ %s.from, %single.rest ], [ %s.further, %single.one ]
  %s.value = load i32, ptr %s.at, align 1
  %s.put = getelementptr i32, ptr %put, i64 %s
  store i32 %s.value, ptr %s.put
  %s.further = getelementptr i8, ptr %s.at, i64 %step
  %s.next = add i64 %s, 1
  %s.done = icmp eq i64 %s.next, %row
  br i1 %s.done, label %outer.next, label %single.one
bytes:
  %b = phi i64 [ 0, %which ], [ %b.next, %bytes.next ]
  %b.offset = mul i64 %b, %step
  %b.at = getelementptr i8, ptr %at, i64 %b.offset
  %b.to = mul i64 %b, %size
  %b.put = getelementptr i8, ptr %put, i64 %b.to
  br label %byte
byte:
  %n = phi i64 [ 0, %bytes ], [ %n.next, %byte ]
  %n.at = getelementptr i8, ptr %b.at, i64 %n
  %n.value = load i8, ptr %n.at
  %n.put = getelementptr i8, ptr %b.put, i64 %n
  store i8 %n.value, ptr %n.put
  %n.next = add i64 %n, 1
  %n.done = icmp eq i64 %n.next, %size
  br i1 %n.done, label %bytes.next, label %byte
bytes.next:
  %b.next = add i64 %b, 1
  %b.done = icmp eq i64 %b.next, %row
  br i1 %b.done, label %outer.next, label %bytes
outer.next:
  %written = mul i64 %row, %size
  %put.row = getelementptr i8, ptr %put, i64 %written
  %at.next = getelementptr i8, ptr %at, i64 %row.step
  %j.next = add i64 %j, 1
  br label %outer
done:
  ret void
}

; Run the code for some of the rows; 1 if it tells an error, which goes to the frame of the plan.
define internal i32 @part(ptr %plan, i64 %begin, i64 %end, i32 %worker) {
entry:
  %slots = alloca [${SLOTS} x i64], align 16
  %pointers = alloca [${OPERAND_COUNT} x ptr], align 16
  %places = alloca [${OPERAND_COUNT} x ptr], align 16
  %index = alloca [${DIMENSIONS} x i64], align 16
  %frame = alloca [2 x i64], align 16
  %function = load ptr, ptr %plan
  %ops.at = getelementptr i64, ptr %plan, i64 1
  %ops = load i64, ptr %ops.at
  %dims.at = getelementptr i64, ptr %plan, i64 3
  %dims = load i64, ptr %dims.at
  %extents = getelementptr i64, ptr %plan, i64 ${EXTENTS}
  %length = load i64, ptr %extents
  store [2 x i64] zeroinitializer, ptr %frame
  br label %operands
operands:
  ; Where each begins, and what of the slots is the same for all rows.
  %k = phi i64 [ 0, %entry ], [ %k.next, %laid ]
  %slot = phi ptr [ %slots, %entry ], [ %slot.next, %laid ]
  %all = icmp eq i64 %k, %ops
  br i1 %all, label %digits, label %lay
lay:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %data = load ptr, ptr %op
  %kind.at = getelementptr i64, ptr %op, i64 5
  %kind = load i64, ptr %kind.at
  %parts.at = getelementptr i64, ptr %op, i64 6
  %parts = load i64, ptr %parts.at
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %k
  %place.at = getelementptr ptr, ptr %places, i64 %k
  store ptr %data, ptr %pointer.at
  store ptr %slot, ptr %place.at
  %is.number = icmp eq i64 %kind, ${UNIFORM}
  br i1 %is.number, label %number, label %array
number:
  %behind.number = getelementptr i64, ptr %slot, i64 %parts
  br label %laid
array:
  %extent.at = getelementptr i64, ptr %slot, i64 1
  %stride.at = getelementptr i64, ptr %slot, i64 2
  %step.at = getelementptr i64, ptr %op, i64 ${STEPS}
  %step = load i64, ptr %step.at
  store i64 %length, ptr %extent.at
  store i64 %step, ptr %stride.at
  %with.stride = icmp eq i64 %kind, ${STRIDED}
  %words = select i1 %with.stride, i64 3, i64 2
  %behind.array = getelementptr i64, ptr %slot, i64 %words
  br label %laid
laid:
  %slot.next = phi ptr [ %behind.number, %number ], [ %behind.array, %array ]
  %k.next = add i64 %k, 1
  br label %operands
digits:
  ; The first row by its index along each axis.
  %d = phi i64 [ 1, %operands ], [ %d.next, %digit.next ]
  %left = phi i64 [ %begin, %operands ], [ %left.next, %digit.next ]
  %placed = icmp sge i64 %d, %dims
  br i1 %placed, label %row, label %digit
digit:
  %d.extent.at = getelementptr i64, ptr %extents, i64 %d
  %d.extent = load i64, ptr %d.extent.at
  %left.next = udiv i64 %left, %d.extent
  %d.digit = urem i64 %left, %d.extent
  %d.index.at = getelementptr i64, ptr %index, i64 %d
  store i64 %d.digit, ptr %d.index.at
  call void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %d, i64 %d.digit)
  br label %digit.next
digit.next:
  %d.next = add i64 %d, 1
  br label %digits
row:
  %r = phi i64 [ %begin, %digits ], [ %r.next, %row.next ]
  br label %slot.each
slot.each:
  %m = phi i64 [ 0, %row ], [ %m.next, %slotted ]
  %ready = icmp eq i64 %m, %ops
  br i1 %ready, label %run, label %slot.fill
slot.fill:
  %m.op = call ptr @operand(ptr %plan, i64 %m)
  %m.kind.at = getelementptr i64, ptr %m.op, i64 5
  %m.kind = load i64, ptr %m.kind.at
  %m.pointer.at = getelementptr ptr, ptr %pointers, i64 %m
  %m.pointer = load ptr, ptr %m.pointer.at
  %m.place.at = getelementptr ptr, ptr %places, i64 %m
  %m.place = load ptr, ptr %m.place.at
  %m.number = icmp eq i64 %m.kind, ${UNIFORM}
  br i1 %m.number, label %value, label %address
value:
  call void @value(ptr %m.op, ptr %m.pointer, ptr %m.place)
  br label %slotted
address:
  store ptr %m.pointer, ptr %m.place
  br label %slotted
slotted:
  %m.next = add i64 %m, 1
  br label %slot.each
run:
  call void %function(ptr %slots, ptr %frame)
  %error.at = getelementptr i64, ptr %frame, i64 1
  %error = load i64, ptr %error.at
  %fine = icmp eq i64 %error, 0
  br i1 %fine, label %advance, label %failed
failed:
  %shared.at = getelementptr i64, ptr %plan, i64 6
  %shared = load ptr, ptr %shared.at
  %shared.error.at = getelementptr i64, ptr %shared, i64 1
  store i64 %error, ptr %shared.error.at
  ret i32 1
advance:
  %r.next = add i64 %r, 1
  %over = icmp sge i64 %r.next, %end
  br i1 %over, label %done, label %carry
carry:
  %c = phi i64 [ 1, %advance ], [ %c.next, %wrap ]
  %c.index.at = getelementptr i64, ptr %index, i64 %c
  %c.index = load i64, ptr %c.index.at
  %c.more = add i64 %c.index, 1
  %c.extent.at = getelementptr i64, ptr %extents, i64 %c
  %c.extent = load i64, ptr %c.extent.at
  call void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %c, i64 1)
  store i64 %c.more, ptr %c.index.at
  %c.full = icmp eq i64 %c.more, %c.extent
  br i1 %c.full, label %wrap, label %row.next
wrap:
  %c.back = sub i64 0, %c.extent
  call void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %c, i64 %c.back)
  store i64 0, ptr %c.index.at
  %c.next = add i64 %c, 1
  br label %carry
row.next:
  br label %row
done:
  ret i32 0
}

; Move all operands by so many steps along an axis.
define internal void @move(ptr %plan, ptr %pointers, i64 %ops, i64 %dimension, i64 %steps) {
entry:
  %word = add i64 %dimension, ${STEPS}
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %add ]
  %done = icmp eq i64 %k, %ops
  br i1 %done, label %moved, label %add
add:
  %op = call ptr @operand(ptr %plan, i64 %k)
  %step.at = getelementptr i64, ptr %op, i64 %word
  %step = load i64, ptr %step.at
  %distance = mul i64 %step, %steps
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %k
  %pointer = load ptr, ptr %pointer.at
  %further = getelementptr i8, ptr %pointer, i64 %distance
  store ptr %further, ptr %pointer.at
  %next = add i64 %k, 1
  br label %check
moved:
  ret void
}

; Load an element into the slot of a number, or into the two of a complex one.
define internal void @value(ptr %op, ptr %from, ptr %to) {
entry:
  %size.at = getelementptr i64, ptr %op, i64 4
  %size = load i64, ptr %size.at
  %parts.at = getelementptr i64, ptr %op, i64 6
  %parts = load i64, ptr %parts.at
  %part = udiv i64 %size, %parts
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %done = icmp eq i64 %k, %parts
  br i1 %done, label %loaded, label %load
load:
  %offset = mul i64 %k, %part
  %at = getelementptr i8, ptr %from, i64 %offset
  switch i64 %part, label %eight [ i64 1, label %one
    i64 2, label %two
    i64 4, label %four ]
one:
  %byte = load i8, ptr %at, align 1
  %byte.word = zext i8 %byte to i64
  br label %put
two:
  %half = load i16, ptr %at, align 1
  %half.word = zext i16 %half to i64
  br label %put
four:
  %single = load i32, ptr %at, align 1
  %single.word = zext i32 %single to i64
  br label %put
eight:
  %double.word = load i64, ptr %at, align 1
  br label %put
put:
  %word = phi i64 [ %byte.word, %one ], [ %half.word, %two ], [ %single.word, %four ], [ %double.word, %eight ]
  %to.at = getelementptr i64, ptr %to, i64 %k
  store i64 %word, ptr %to.at
  %next = add i64 %k, 1
  br label %check
loaded:
  ret void
}

; Let Python raise the error that a function has told.
define internal ptr @finish(ptr %self, ptr %line, ptr %frame) {
entry:
  %number = call ptr @PyLong_FromVoidPtr(ptr %line)
  %words = call ptr @PyBytes_FromStringAndSize(ptr %frame, i64 16)
  %no.number = icmp eq ptr %number, null
  %no.words = icmp eq ptr %words, null
  %lacking = or i1 %no.number, %no.words
  br i1 %lacking, label %failed, label %call
call:
  %stack = alloca [3 x ptr], align 16
  %second = getelementptr ptr, ptr %stack, i64 1
  %third = getelementptr ptr, ptr %stack, i64 2
  store ptr %self, ptr %stack
  store ptr %number, ptr %second
  store ptr %words, ptr %third
  %method.at = getelementptr ptr, ptr @weft_names, i64 2
  %method = load ptr, ptr %method.at
  %answer = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %stack, i64 3, ptr null)
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %words)
  ret ptr %answer
failed:
  ret ptr null
}

define internal void @copy(ptr %to, ptr %from, i64 %count) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %a = getelementptr i64, ptr %from, i64 %k
  %b = getelementptr i64, ptr %to, i64 %k
  %word = load i64, ptr %a
  store i64 %word, ptr %b
  %next = add i64 %k, 1
  br label %check
done:
  ret void
}
