; Calls of compiled functions without Python code between; weft/runtime/dispatch.py explains the records.

@weft_main_thread = external global i64
@weft_pool_ready = external global i64
@weft_names = external global [2 x ptr]
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8

declare i64 @pthread_self()
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyErr_Occurred()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare i32 @weft_interrupt_enter(ptr, ptr, ptr)

; A method of Python's: the object, its arguments, how many come by position, and the names of the others.
define ptr @weft_dispatch(ptr %self, ptr %args, i64 %count, ptr %keywords) {
entry:
  %slots = alloca [${SLOTS} x i64], align 16
  %memory = alloca [2 x i64], align 16
  %overflow = alloca i32, align 4
  %positional = icmp eq ptr %keywords, null
  br i1 %positional, label %thread, label %slow
thread:
  %here = call i64 @pthread_self()
  %main = load i64, ptr @weft_main_thread
  %in.main = icmp eq i64 %here, %main
  br i1 %in.main, label %table, label %slow
table:
  %name = load ptr, ptr @weft_names
  %number = call ptr @PyObject_GetAttr(ptr %self, ptr %name)
  %missing = icmp eq ptr %number, null
  br i1 %missing, label %failed, label %found
found:
  %first = call ptr @PyLong_AsVoidPtr(ptr %number)
  call void @Py_DecRef(ptr %number)
  br label %try
try:
  %record = phi ptr [ %first, %found ], [ %following, %next ]
  %last = icmp eq ptr %record, null
  br i1 %last, label %slow, label %compare
next:
  %following = load ptr, ptr %record
  br label %try
compare:
  %wanted.at = getelementptr i64, ptr %record, i64 1
  %wanted = load i64, ptr %wanted.at
  %as.many = icmp eq i64 %wanted, %count
  br i1 %as.many, label %arguments, label %next
arguments:
  %described = getelementptr i64, ptr %record, i64 6
  br label %each
each:
  %k = phi i64 [ 0, %arguments ], [ %k.next, %taken ]
  %slot = phi i64 [ 0, %arguments ], [ %slot.next, %taken ]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %run, label %look
look:
  %begin = mul i64 %k, 5
  %at = getelementptr i64, ptr %described, i64 %begin
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %type.wanted.at = getelementptr i64, ptr %at, i64 1
  %type.wanted = load ptr, ptr %type.wanted.at
  %typed = icmp eq ptr %type, %type.wanted
  br i1 %typed, label %choose, label %next
choose:
  %kind = load i64, ptr %at
  %more.at = getelementptr i64, ptr %at, i64 2
  %more = load i64, ptr %more.at
  %value.at = getelementptr i8, ptr %object, i64 16
  %slot.at = getelementptr i64, ptr %slots, i64 %slot
  %one.more = add i64 %slot, 1
  switch i64 %kind, label %slow [ i64 0, label %bits
    i64 1, label %integer
    i64 2, label %truth
    i64 3, label %array
    i64 4, label %taken ]
bits:
  ; A number of so many bits less than 64, in the object itself.
  %raw = load i64, ptr %value.at
  %high = shl i64 %raw, %more
  %cut = lshr i64 %high, %more
  store i64 %cut, ptr %slot.at
  br label %taken
integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  store i64 %whole, ptr %slot.at
  br i1 %fits, label %taken, label %slow
truth:
  %true = icmp eq ptr %object, @_Py_TrueStruct
  %bit = zext i1 %true to i64
  store i64 %bit, ptr %slot.at
  br label %taken
array:
  ; The type of its elements, its dimensions, its flags.
  %element.at = getelementptr i8, ptr %object, i64 56
  %element = load i64, ptr %element.at
  %same.element = icmp eq i64 %element, %more
  %dimensions.at = getelementptr i8, ptr %object, i64 24
  %dimensions = load i32, ptr %dimensions.at
  %ndim = zext i32 %dimensions to i64
  %ndim.wanted.at = getelementptr i64, ptr %at, i64 3
  %ndim.wanted = load i64, ptr %ndim.wanted.at
  %same.dimensions = icmp eq i64 %ndim, %ndim.wanted
  %flags.at = getelementptr i8, ptr %object, i64 64
  %flags = load i32, ptr %flags.at
  %telling = and i32 %flags, ${FLAGS}
  %flags.wanted.at = getelementptr i64, ptr %at, i64 4
  %flags.wanted = load i32, ptr %flags.wanted.at
  %same.flags = icmp eq i32 %telling, %flags.wanted
  %one = and i1 %same.element, %same.dimensions
  %all = and i1 %one, %same.flags
  br i1 %all, label %extents, label %next
extents:
  %data = load i64, ptr %value.at
  store i64 %data, ptr %slot.at
  %shape.at = getelementptr i8, ptr %object, i64 32
  %shape = load ptr, ptr %shape.at
  %extents.at = getelementptr i64, ptr %slot.at, i64 1
  call void @copy(ptr %extents.at, ptr %shape, i64 %ndim)
  %behind = add i64 %one.more, %ndim
  %contiguous.bit = and i32 %flags, 1
  %contiguous = icmp ne i32 %contiguous.bit, 0
  br i1 %contiguous, label %taken, label %strides
strides:
  %steps.at = getelementptr i8, ptr %object, i64 40
  %steps = load ptr, ptr %steps.at
  %steps.to = getelementptr i64, ptr %slots, i64 %behind
  call void @copy(ptr %steps.to, ptr %steps, i64 %ndim)
  %far = add i64 %behind, %ndim
  br label %taken
taken:
  %slot.next = phi i64 [ %one.more, %bits ], [ %one.more, %integer ], [ %one.more, %truth ], [ %behind, %extents ],
                       [ %far, %strides ], [ %slot, %choose ]
  %k.next = add i64 %k, 1
  br label %each
run:
  %parallel.at = getelementptr i64, ptr %record, i64 5
  %parallel = load i64, ptr %parallel.at
  %ready = load i64, ptr @weft_pool_ready
  %unready = icmp ult i64 %ready, %parallel
  br i1 %unready, label %slow, label %go
go:
  %function.at = getelementptr i64, ptr %record, i64 2
  %function = load ptr, ptr %function.at
  %status = call i32 @weft_interrupt_enter(ptr %function, ptr %slots, ptr %memory)
  %raised = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %result, label %failed
result:
  %kind.at = getelementptr i64, ptr %record, i64 3
  %result.kind = load i64, ptr %kind.at
  %spare.at = getelementptr i64, ptr %record, i64 4
  %spare = load i64, ptr %spare.at
  %word = load i64, ptr %memory
  %upper = shl i64 %word, %spare
  switch i64 %result.kind, label %nothing [ i64 1, label %double
    i64 2, label %single
    i64 3, label %boolean
    i64 4, label %signed
    i64 5, label %unsigned ]
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
double:
  %float = load double, ptr %memory
  %as.float = call ptr @PyFloat_FromDouble(double %float)
  ret ptr %as.float
single:
  %short = load float, ptr %memory
  %long = fpext float %short to double
  %as.single = call ptr @PyFloat_FromDouble(double %long)
  ret ptr %as.single
boolean:
  %byte = lshr i64 %upper, %spare
  %as.boolean = call ptr @PyBool_FromLong(i64 %byte)
  ret ptr %as.boolean
signed:
  %number.signed = ashr i64 %upper, %spare
  %as.signed = call ptr @PyLong_FromLongLong(i64 %number.signed)
  ret ptr %as.signed
unsigned:
  %number.unsigned = lshr i64 %upper, %spare
  %as.unsigned = call ptr @PyLong_FromUnsignedLongLong(i64 %number.unsigned)
  ret ptr %as.unsigned
failed:
  ret ptr null
slow:
  %named = call i64 @count_names(ptr %keywords)
  %given = add i64 %count, %named
  %all.given = add i64 %given, 1
  %stack = alloca ptr, i64 %all.given, align 16
  store ptr %self, ptr %stack
  %rest = getelementptr ptr, ptr %stack, i64 1
  call void @copy(ptr %rest, ptr %args, i64 %given)
  %method.at = getelementptr ptr, ptr @weft_names, i64 1
  %method = load ptr, ptr %method.at
  %by.position = add i64 %count, 1
  %answer = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %stack, i64 %by.position, ptr %keywords)
  ret ptr %answer
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
