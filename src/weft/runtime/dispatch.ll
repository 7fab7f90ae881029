; Calls of compiled functions without Python code between; weft/runtime/dispatch.py explains the records.

@weft_callers = external global [3 x i64]
@weft_pool_ready = external global i64
@weft_names = external global [4 x ptr]
@weft_parallel_settings = external global [2 x i64]
@weft_arenas = external global [${ARENA_SETS} x [4 x i64]]
@weft_pool_launch = external global i8
@_Py_RuntimeError = external global i8
@stopped = internal constant [44 x i8] c"a launch without barriers has stopped early\00"
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8

declare i64 @pthread_self()
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare float @llvm.fabs.f32(float)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyComplex_FromDoubles(double, double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @weft_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @weft_set_base(ptr, ptr)
@weft_array_type = external global i8
@weft_tuple_type = external global i8
@weft_int_type = external global i8
declare void @free(ptr)
declare i32 @weft_interrupt_enter(ptr, ptr, ptr)
declare i32 @weft_interrupt_alone(ptr, ptr, ptr)

; A method of Python's: the object, its arguments, how many come by position, and the names of the others.
define ptr @weft_dispatch(ptr %self, ptr %args, i64 %count, ptr %keywords) {
entry:
  %slots = alloca [${SLOTS} x i64], align 16
  %memory = alloca [${RESULT_WORDS} x i64], align 16
  %overflow = alloca i32, align 4
  %begins = alloca [${PLACES} x i64], align 16
  %ends = alloca [${PLACES} x i64], align 16
  %job = alloca [5 x i64], align 16
  %launch = alloca [10 x i64], align 16
  %errors = alloca [${ERROR_WORDS} x i64], align 16
  %bound = alloca [${SLOTS} x ptr], align 16
  %flat = alloca [${SLOTS} x ptr], align 16
  %objects = alloca [${RESULT_WORDS} x ptr], align 16
  %positional = icmp eq ptr %keywords, null
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
  br i1 %too.early, label %slow, label %table
table:
  %name = load ptr, ptr @weft_names
  %number = call ptr @PyObject_GetAttr(ptr %self, ptr %name)
  %missing = icmp eq ptr %number, null
  br i1 %missing, label %failed, label %found
found:
  %first = call ptr @PyLong_AsVoidPtr(ptr %number)
  call void @Py_DecRef(ptr %number)
  br i1 %positional, label %search, label %parameters
parameters:
  ; Arguments by name, fewer than there are parameters, or tuples.
  %is.bound = phi i1 [ false, %found ], [ %tried.bound, %unknown ]
  br i1 %is.bound, label %slow, label %bind
bind:
  %parameters.name.at = getelementptr ptr, ptr @weft_names, i64 3
  %parameters.name = load ptr, ptr %parameters.name.at
  %parameters.number = call ptr @PyObject_GetAttr(ptr %self, ptr %parameters.name)
  %no.parameters = icmp eq ptr %parameters.number, null
  br i1 %no.parameters, label %failed, label %described.by
described.by:
  %parameters.at = call ptr @PyLong_AsVoidPtr(ptr %parameters.number)
  call void @Py_DecRef(ptr %parameters.number)
  %bound.count = call i64 @bind(ptr %parameters.at, ptr %args, i64 %count, ptr %keywords, ptr %bound)
  %unbound = icmp slt i64 %bound.count, 0
  br i1 %unbound, label %slow, label %flatten
flatten:
  %flat.count = call i64 @flatten(ptr %bound, i64 %bound.count, ptr %flat)
  %too.long = icmp slt i64 %flat.count, 0
  br i1 %too.long, label %slow, label %search
search:
  %values = phi ptr [ %args, %found ], [ %flat, %flatten ]
  %values.count = phi i64 [ %count, %found ], [ %flat.count, %flatten ]
  %tried.bound = phi i1 [ false, %found ], [ true, %flatten ]
  br label %try
unknown:
  br label %parameters
try:
  %record = phi ptr [ %first, %search ], [ %following, %next ]
  %last = icmp eq ptr %record, null
  br i1 %last, label %unknown, label %compare
next:
  %following = load ptr, ptr %record
  br label %try
compare:
  %wanted.at = getelementptr i64, ptr %record, i64 1
  %wanted = load i64, ptr %wanted.at
  %as.many = icmp eq i64 %wanted, %values.count
  br i1 %as.many, label %arguments, label %next
arguments:
  %described = getelementptr i64, ptr %record, i64 ${HEADER}
  %kind.at = getelementptr i64, ptr %record, i64 3
  %result.kind = load i64, ptr %kind.at
  %launches = icmp eq i64 %result.kind, ${LAUNCH}
  %apart.at = getelementptr i64, ptr %record, i64 9
  %apart = load i64, ptr %apart.at
  %places.matter = icmp ne i64 %apart, 0
  br label %each
each:
  %k = phi i64 [ 0, %arguments ], [ %k.next, %taken ]
  %slot = phi i64 [ 0, %arguments ], [ %slot.next, %taken ]
  %done = icmp eq i64 %k, %values.count
  br i1 %done, label %restrictions, label %look
look:
  %begin = mul i64 %k, 6
  %at = getelementptr i64, ptr %described, i64 %begin
  %object.at = getelementptr ptr, ptr %values, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %type.wanted.at = getelementptr i64, ptr %at, i64 1
  %type.wanted = load ptr, ptr %type.wanted.at
  %typed = icmp eq ptr %type, %type.wanted
  br i1 %typed, label %choose, label %next
choose:
  %kind.word = load i64, ptr %at
  %kind = and i64 %kind.word, 255
  %more.at = getelementptr i64, ptr %at, i64 2
  %more = load i64, ptr %more.at
  %value.at = getelementptr i8, ptr %object, i64 16
  %slot.at = getelementptr i64, ptr %slots, i64 %slot
  %one.more = add i64 %slot, 1
  %begin.at = getelementptr i64, ptr %begins, i64 %k
  %end.at = getelementptr i64, ptr %ends, i64 %k
  store i64 0, ptr %begin.at
  store i64 0, ptr %end.at
  switch i64 %kind, label %slow [ i64 0, label %bits
    i64 1, label %integer
    i64 2, label %truth
    i64 3, label %array
    i64 4, label %taken
    i64 5, label %same
    i64 6, label %tuple
    i64 7, label %complex
    i64 8, label %null
    i64 9, label %buffer
    i64 10, label %ranged
    i64 11, label %rounded
    i64 12, label %exact
    i64 13, label %sized
    i64 14, label %holder
    i64 15, label %holder
    i64 16, label %sized.memory ]
holder:
  ; An object with an array in it, at the place that the rest of the word says.
  %held.place = lshr i64 %kind.word, 8
  %held.at = getelementptr i8, ptr %object, i64 %held.place
  %inside = load ptr, ptr %held.at
  %nothing.held = icmp eq ptr %inside, null
  br i1 %nothing.held, label %next, label %holds.some
holds.some:
  %held.type.at = getelementptr i8, ptr %inside, i64 8
  %held.type = load ptr, ptr %held.type.at
  %array.held = icmp eq ptr %held.type, @weft_array_type
  br i1 %array.held, label %holds.array, label %next
holds.array:
  %held.buffer = icmp eq i64 %kind, 15
  br i1 %held.buffer, label %buffer, label %array
sized.memory:
  ; Local memory, as an object with an int in it: how many bytes, and what its slot has if it is so many.
  %m.place = lshr i64 %kind.word, 8
  %m.at = getelementptr i8, ptr %object, i64 %m.place
  %m.int = load ptr, ptr %m.at
  %m.nothing = icmp eq ptr %m.int, null
  br i1 %m.nothing, label %next, label %m.some
m.some:
  %m.type.at = getelementptr i8, ptr %m.int, i64 8
  %m.type = load ptr, ptr %m.type.at
  %m.is.int = icmp eq ptr %m.type, @weft_int_type
  br i1 %m.is.int, label %m.compare, label %next
m.compare:
  %m.bytes = call i64 @PyLong_AsLongLongAndOverflow(ptr %m.int, ptr %overflow)
  %m.slot.at = getelementptr i64, ptr %at, i64 3
  %m.slot = load i64, ptr %m.slot.at
  store i64 %m.slot, ptr %slot.at
  %m.same = icmp eq i64 %m.bytes, %more
  br i1 %m.same, label %taken, label %next
sized:
  ; An extent, or a tuple of them, that the record is for.
  %sizes.at = getelementptr i64, ptr %at, i64 3
  %as.large = call i1 @is_size(ptr %object, i64 %more, ptr %sizes.at)
  br i1 %as.large, label %taken, label %next
null:
  store i64 0, ptr %slot.at
  br label %taken
ranged:
  ; Of a type of C: so many bits less than 64, the least number and the greatest.
  %ranged.whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %ranged.over = load i32, ptr %overflow
  %ranged.fits = icmp eq i32 %ranged.over, 0
  %least.at = getelementptr i64, ptr %at, i64 3
  %least = load i64, ptr %least.at
  %greatest.at = getelementptr i64, ptr %at, i64 4
  %greatest = load i64, ptr %greatest.at
  %not.less = icmp sge i64 %ranged.whole, %least
  %not.greater = icmp sle i64 %ranged.whole, %greatest
  %ranged.high = shl i64 %ranged.whole, %more
  %ranged.cut = lshr i64 %ranged.high, %more
  store i64 %ranged.cut, ptr %slot.at
  %within = and i1 %not.less, %not.greater
  %in.range = and i1 %within, %ranged.fits
  br i1 %in.range, label %taken, label %slow
rounded:
  ; A float of Python's as one of 32 bits. NumPy may say something of those that these have no place for.
  %wide.float = load double, ptr %value.at
  %narrow.float = fptrunc double %wide.float to float
  %narrow.bits = bitcast float %narrow.float to i32
  %narrow.slot = zext i32 %narrow.bits to i64
  store i64 %narrow.slot, ptr %slot.at
  %magnitude = call float @llvm.fabs.f32(float %narrow.float)
  %is.normal = fcmp oge float %magnitude, 0x3810000000000000
  %is.finite = fcmp olt float %magnitude, 0x7FF0000000000000
  %is.zero = fcmp oeq double %wide.float, 0.0
  %is.plain = and i1 %is.normal, %is.finite
  %has.place = or i1 %is.plain, %is.zero
  br i1 %has.place, label %taken, label %slow
exact:
  ; An int of Python's as a float, of 64 bits or of 32, which both have it.
  %exact.whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %exact.over = load i32, ptr %overflow
  %exact.fits = icmp eq i32 %exact.over, 0
  %from.least = add i64 %exact.whole, 16777216
  %is.small = icmp ule i64 %from.least, 33554432
  %as.double = sitofp i64 %exact.whole to double
  %double.bits = bitcast double %as.double to i64
  %as.single = sitofp i64 %exact.whole to float
  %single.bits = bitcast float %as.single to i32
  %single.slot = zext i32 %single.bits to i64
  %of.doubles = icmp eq i64 %more, 0
  %exact.bits = select i1 %of.doubles, i64 %double.bits, i64 %single.slot
  store i64 %exact.bits, ptr %slot.at
  %is.exact = and i1 %exact.fits, %is.small
  br i1 %is.exact, label %taken, label %slow
buffer:
  %b.object = phi ptr [ %object, %choose ], [ %inside, %holds.array ]
  %b.value.at = getelementptr i8, ptr %b.object, i64 16
  ; An array that a pointer leads to: the type of its elements, of what its address is a multiple, less 1, and flags
  ; that it must have; above 32 bits whether it must not be a part of something that begins in front of it, and how many
  ; bytes it must have.
  %b.element.at = getelementptr i8, ptr %b.object, i64 56
  %b.element = load i64, ptr %b.element.at
  %b.same = icmp eq i64 %b.element, %more
  %b.data = load i64, ptr %b.value.at
  %b.low.at = getelementptr i64, ptr %at, i64 3
  %b.low = load i64, ptr %b.low.at
  %b.beyond = and i64 %b.data, %b.low
  %b.aligned = icmp eq i64 %b.beyond, 0
  %b.flags.at = getelementptr i8, ptr %b.object, i64 64
  %b.flags = load i32, ptr %b.flags.at
  %b.wanted.at = getelementptr i64, ptr %at, i64 4
  %b.wanted = load i32, ptr %b.wanted.at
  %b.telling = and i32 %b.flags, %b.wanted
  %b.flagged = icmp eq i32 %b.telling, %b.wanted
  %b.placed = and i1 %b.same, %b.aligned
  %b.all = and i1 %b.placed, %b.flagged
  br i1 %b.all, label %b.fits, label %next
b.fits:
  %b.word = load i64, ptr %b.wanted.at
  %b.above = lshr i64 %b.word, 32
  %b.exact = lshr i64 %b.above, 1
  %b.anywhere = icmp eq i64 %b.above, 0
  br i1 %b.anywhere, label %pointed, label %b.part
b.part:
  %b.base.at = getelementptr i8, ptr %b.object, i64 48
  %b.base = load ptr, ptr %b.base.at
  %b.own = icmp eq ptr %b.base, null
  br i1 %b.own, label %pointed, label %b.based
b.based:
  %b.base.type.at = getelementptr i8, ptr %b.base, i64 8
  %b.base.type = load ptr, ptr %b.base.type.at
  %b.of.array = icmp eq ptr %b.base.type, @weft_array_type
  br i1 %b.of.array, label %b.of.base, label %next
b.of.base:
  %b.whole.at = getelementptr i8, ptr %b.base, i64 16
  %b.whole = load i64, ptr %b.whole.at
  %b.begins = icmp eq i64 %b.whole, %b.data
  br i1 %b.begins, label %pointed, label %next
pointed:
  store i64 %b.data, ptr %slot.at
  %b.shape.at = getelementptr i8, ptr %b.object, i64 32
  %b.shape = load ptr, ptr %b.shape.at
  %b.dimensions.at = getelementptr i8, ptr %b.object, i64 24
  %b.dimensions = load i32, ptr %b.dimensions.at
  %b.ndim = zext i32 %b.dimensions to i64
  br label %place
complex:
  ; Two numbers of so many bits less than 64, in the object itself.
  %two.more = add i64 %slot, 2
  %imaginary.slot.at = getelementptr i64, ptr %slot.at, i64 1
  %is.double = icmp eq i64 %more, 0
  br i1 %is.double, label %doubles, label %singles
doubles:
  %real.double = load i64, ptr %value.at
  %imaginary.double.at = getelementptr i8, ptr %value.at, i64 8
  %imaginary.double = load i64, ptr %imaginary.double.at
  br label %parts
singles:
  %real.single = load i32, ptr %value.at
  %imaginary.single.at = getelementptr i8, ptr %value.at, i64 4
  %imaginary.single = load i32, ptr %imaginary.single.at
  %real.wide = zext i32 %real.single to i64
  %imaginary.wide = zext i32 %imaginary.single to i64
  br label %parts
parts:
  %real = phi i64 [ %real.double, %doubles ], [ %real.wide, %singles ]
  %imaginary = phi i64 [ %imaginary.double, %doubles ], [ %imaginary.wide, %singles ]
  store i64 %real, ptr %slot.at
  store i64 %imaginary, ptr %imaginary.slot.at
  br label %taken
tuple:
  ; Its items come next.
  %length = call i64 @PyTuple_Size(ptr %object)
  %as.long = icmp eq i64 %length, %more
  br i1 %as.long, label %taken, label %next
same:
  ; One object, for which the code was made.
  %address = ptrtoint ptr %object to i64
  %is.same = icmp eq i64 %address, %more
  br i1 %is.same, label %taken, label %next
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
  %a.object = phi ptr [ %object, %choose ], [ %inside, %holds.array ]
  %a.value.at = getelementptr i8, ptr %a.object, i64 16
  ; The type of its elements, its dimensions, its flags.
  %element.at = getelementptr i8, ptr %a.object, i64 56
  %element = load i64, ptr %element.at
  %same.element = icmp eq i64 %element, %more
  %dimensions.at = getelementptr i8, ptr %a.object, i64 24
  %dimensions = load i32, ptr %dimensions.at
  %ndim = zext i32 %dimensions to i64
  %ndim.wanted.at = getelementptr i64, ptr %at, i64 3
  %ndim.wanted = load i64, ptr %ndim.wanted.at
  %same.dimensions = icmp eq i64 %ndim, %ndim.wanted
  %flags.at = getelementptr i8, ptr %a.object, i64 64
  %flags = load i32, ptr %flags.at
  %telling = and i32 %flags, ${FLAGS}
  %flags.wanted.at = getelementptr i64, ptr %at, i64 4
  %flags.wanted = load i32, ptr %flags.wanted.at
  %same.flags = icmp eq i32 %telling, %flags.wanted
  %one = and i1 %same.element, %same.dimensions
  %all = and i1 %one, %same.flags
  br i1 %all, label %extents, label %next
extents:
  %data = load i64, ptr %a.value.at
  store i64 %data, ptr %slot.at
  %shape.at = getelementptr i8, ptr %a.object, i64 32
  %shape = load ptr, ptr %shape.at
  %extents.at = getelementptr i64, ptr %slot.at, i64 1
  call void @copy(ptr %extents.at, ptr %shape, i64 %ndim)
  %behind = add i64 %one.more, %ndim
  %contiguous.bit = and i32 %flags, 1
  %contiguous = icmp ne i32 %contiguous.bit, 0
  br i1 %launches, label %place, label %rows
place:
  ; Of a kernel's array: where it is, for kernels whose arrays must lie apart and be small.
  %p.data = phi i64 [ %data, %extents ], [ %b.data, %pointed ]
  %p.shape = phi ptr [ %shape, %extents ], [ %b.shape, %pointed ]
  %p.ndim = phi i64 [ %ndim, %extents ], [ %b.ndim, %pointed ]
  %p.contiguous = phi i1 [ %contiguous, %extents ], [ true, %pointed ]
  %p.behind = phi i64 [ %behind, %extents ], [ %one.more, %pointed ]
  %p.exact = phi i64 [ 0, %extents ], [ %b.exact, %pointed ]
  %size.at = getelementptr i64, ptr %at, i64 5
  %size = load i64, ptr %size.at
  %bytes = call i64 @volume(i64 %size, ptr %p.shape, i64 %p.ndim)
  %behind.last = add i64 %p.data, %bytes
  ; One that is empty overlaps nothing.
  %empty = icmp eq i64 %bytes, 0
  %p.first = select i1 %empty, i64 0, i64 %p.data
  %p.last = select i1 %empty, i64 0, i64 %behind.last
  store i64 %p.first, ptr %begin.at
  store i64 %p.last, ptr %end.at
  %small = icmp ule i64 %bytes, ${LARGEST}
  %simple = and i1 %small, %p.contiguous
  %p.any.size = icmp eq i64 %p.exact, 0
  %p.same.size = icmp eq i64 %p.exact, %bytes
  %p.sized = or i1 %p.any.size, %p.same.size
  br i1 %p.sized, label %p.known, label %next
p.known:
  br i1 %simple, label %taken, label %slow
rows:
  %steps.at = getelementptr i8, ptr %a.object, i64 40
  %steps = load ptr, ptr %steps.at
  br i1 %contiguous, label %follow, label %strides
strides:
  %steps.to = getelementptr i64, ptr %slots, i64 %behind
  call void @copy(ptr %steps.to, ptr %steps, i64 %ndim)
  %far = add i64 %behind, %ndim
  br label %follow
follow:
  %a.behind = phi i64 [ %behind, %rows ], [ %far, %strides ]
  br i1 %places.matter, label %reach, label %taken
reach:
  %a.size.at = getelementptr i64, ptr %at, i64 5
  %a.size = load i64, ptr %a.size.at
  call void @reach(ptr %begin.at, ptr %end.at, i64 %data, i64 %a.size, ptr %shape, ptr %steps, i64 %ndim)
  br label %taken
taken:
  %slot.next = phi i64 [ %one.more, %bits ], [ %one.more, %integer ], [ %one.more, %truth ], [ %a.behind, %follow ], [ %a.behind, %reach ],
                       [ %p.behind, %p.known ], [ %two.more, %parts ], [ %slot, %choose ], [ %slot, %same ], [ %slot, %tuple ],
                       [ %slot, %sized ], [ %one.more, %null ], [ %one.more, %ranged ], [ %one.more, %rounded ],
                       [ %one.more, %exact ], [ %one.more, %m.compare ]
  %k.next = add i64 %k, 1
  br label %each
restrictions:
  ; Numbers that the code is made for.
  %behind.all = mul i64 %values.count, 6
  %restricted.at = getelementptr i64, ptr %described, i64 %behind.all
  %restricted = load i64, ptr %restricted.at
  br label %restriction
restriction:
  %r = phi i64 [ 0, %restrictions ], [ %r.next, %holds ]
  %held = icmp eq i64 %r, %restricted
  br i1 %held, label %places, label %hold
hold:
  %r.words = mul i64 %r, 3
  %r.at = getelementptr i64, ptr %restricted.at, i64 %r.words
  %r.slot.at = getelementptr i64, ptr %r.at, i64 1
  %r.least.at = getelementptr i64, ptr %r.at, i64 2
  %r.greatest.at = getelementptr i64, ptr %r.at, i64 3
  %r.word = load i64, ptr %r.slot.at
  %r.slot = and i64 %r.word, 65535
  %r.low = and i64 %r.word, 4294967295
  %r.second = lshr i64 %r.low, 16
  %r.others = lshr i64 %r.word, 32
  %r.least = load i64, ptr %r.least.at
  %r.greatest = load i64, ptr %r.greatest.at
  %r.value.at = getelementptr i64, ptr %slots, i64 %r.slot
  %r.one = load i64, ptr %r.value.at
  %r.second.at = getelementptr i64, ptr %slots, i64 %r.second
  %r.second.value = load i64, ptr %r.second.at
  %r.difference = sub i64 %r.one, %r.second.value
  %r.is.one = icmp eq i64 %r.second, 0
  %r.first = select i1 %r.is.one, i64 %r.one, i64 %r.difference
  br label %product
product:
  %r.factor = phi i64 [ 0, %hold ], [ %r.factor.next, %multiplied ]
  %r.value = phi i64 [ %r.first, %hold ], [ %r.larger, %multiplied ]
  %r.more = icmp ult i64 %r.factor, %r.others
  br i1 %r.more, label %multiply, label %bounds
multiply:
  %r.factor.next = add i64 %r.factor, 1
  %r.next.at = getelementptr i64, ptr %r.value.at, i64 %r.factor.next
  %r.next.value = load i64, ptr %r.next.at
  %r.both = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %r.value, i64 %r.next.value)
  %r.larger = extractvalue { i64, i1 } %r.both, 0
  %r.over = extractvalue { i64, i1 } %r.both, 1
  br i1 %r.over, label %next, label %multiplied
multiplied:
  br label %product
bounds:
  ; Those from the least to the greatest, by way of the largest of all if that is less.
  %r.distance = sub i64 %r.value, %r.least
  %r.most = sub i64 %r.greatest, %r.least
  %r.within = icmp ule i64 %r.distance, %r.most
  %r.next = add i64 %r, 1
  br i1 %r.within, label %holds, label %next
holds:
  br label %restriction
places:
  %function.at = getelementptr i64, ptr %record, i64 2
  %function = load ptr, ptr %function.at
  br i1 %places.matter, label %and.own, label %run
and.own:
  ; Of a kernel, where memory of the program's begins and ends is another place.
  %p.begin.at = getelementptr i64, ptr %begins, i64 %values.count
  %p.end.at = getelementptr i64, ptr %ends, i64 %values.count
  store i64 0, ptr %p.begin.at
  store i64 0, ptr %p.end.at
  br i1 %launches, label %own.memory, label %all.places
own.memory:
  %p.begin.from = getelementptr i64, ptr %function, i64 12
  %p.begin = load i64, ptr %p.begin.from
  store i64 %p.begin, ptr %p.begin.at
  %p.end.from = getelementptr i64, ptr %function, i64 13
  %p.end = load i64, ptr %p.end.from
  store i64 %p.end, ptr %p.end.at
  br label %all.places
all.places:
  %written.at = getelementptr i64, ptr %record, i64 10
  %written = load i64, ptr %written.at
  %place.count = add i64 %values.count, 1
  %meet = call i1 @overlap(ptr %begins, ptr %ends, i64 %place.count, i64 %written)
  %excluded = select i1 %meet, i64 1, i64 2
  %of.others = icmp eq i64 %apart, %excluded
  br i1 %of.others, label %next, label %run
run:
  %parallel.at = getelementptr i64, ptr %record, i64 5
  %parallel = load i64, ptr %parallel.at
  %ready = load i64, ptr @weft_pool_ready
  %unready = icmp ult i64 %ready, %parallel
  br i1 %unready, label %slow, label %go
go:
  br i1 %launches, label %kernel, label %body
body:
  ; Of a function that allocates or raises: where the frame is that it leaves to, behind the words of the result.
  %frame.word.at = getelementptr i64, ptr %record, i64 6
  %frame.word = load i64, ptr %frame.word.at
  %allocates = icmp sge i64 %frame.word, 0
  %frame = getelementptr i64, ptr %memory, i64 %frame.word
  %error.at = getelementptr i64, ptr %frame, i64 1
  br i1 %allocates, label %clear, label %enter
clear:
  store i64 0, ptr %frame
  store i64 0, ptr %error.at
  br label %enter
enter:
  %status = call i32 %enter.by(ptr %function, ptr %slots, ptr %memory)
  %raised = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %left, label %interrupted
interrupted:
  br i1 %allocates, label %abandon, label %failed
abandon:
  call void @free_blocks(ptr %frame)
  ret ptr null
left:
  br i1 %allocates, label %examine, label %simple.result
examine:
  %error = load i64, ptr %error.at
  %no.error = icmp eq i64 %error, 0
  br i1 %no.error, label %simple.result, label %by.python
simple.result:
  switch i64 %result.kind, label %result [ i64 ${ARRAY}, label %objects.result
    i64 ${TUPLE}, label %objects.result
    i64 ${PYTHON}, label %by.python ]
objects.result:
  ; Arrays and tuples, whose items the word behind "spare bits" leads to.
  %frame.or.null = select i1 %allocates, ptr %frame, ptr null
  %made = call i32 @objects(ptr %record, ptr %memory, ptr %frame.or.null, ptr %values, i64 %values.count, ptr %objects)
  switch i32 %made, label %failed [ i32 0, label %all.made
    i32 1, label %by.python ]
all.made:
  %is.tuple = icmp eq i64 %result.kind, ${TUPLE}
  br i1 %is.tuple, label %pack, label %alone
alone:
  %first.object = load ptr, ptr %objects
  ret ptr %first.object
pack:
  %items.at = getelementptr i64, ptr %record, i64 4
  %items = load i64, ptr %items.at
  %packed = call ptr @tuple_of(ptr %objects, i64 %items)
  ret ptr %packed
by.python:
  %answered = call ptr @finish(ptr %self, ptr %record, ptr %memory, ptr %values, i64 %values.count)
  ret ptr %answered
kernel:
  ; What it points to: entry point, groups, chunk, threads that are of use, grid and block, dynamic bytes, bytes of
  ; scratch memory, where memory of the program's begins and ends, how many slots follow those of the arguments, and
  ; what is in them.
  %pool = load ptr, ptr @weft_parallel_settings
  %no.pool = icmp eq ptr %pool, null
  br i1 %no.pool, label %slow, label %lay
lay:
  %limit.at = getelementptr i64, ptr @weft_parallel_settings, i64 1
  %limit = load i64, ptr %limit.at
  %most.at = getelementptr i64, ptr %function, i64 3
  %most = load i64, ptr %most.at
  %fewer = icmp slt i64 %most, %limit
  %threads = select i1 %fewer, i64 %most, i64 %limit
  %needed.at = getelementptr i64, ptr %function, i64 11
  %needed = load i64, ptr %needed.at
  br label %seek
seek:
  ; Scratch memory, of which launches at the same time have one each: its table, for how many threads, bytes for each,
  ; and whether a launch has it.
  %arena = phi i64 [ 0, %lay ], [ %arena.next, %another ]
  %arenas.at = getelementptr [4 x i64], ptr @weft_arenas, i64 %arena
  %arena.table = load ptr, ptr %arenas.at
  %arena.threads.at = getelementptr i64, ptr %arenas.at, i64 1
  %arena.threads = load i64, ptr %arena.threads.at
  %arena.bytes.at = getelementptr i64, ptr %arenas.at, i64 2
  %arena.bytes = load i64, ptr %arena.bytes.at
  %busy.at = getelementptr i64, ptr %arenas.at, i64 3
  %busy = load i64, ptr %busy.at
  %too.few = icmp slt i64 %arena.threads, %threads
  %too.small = icmp slt i64 %arena.bytes, %needed
  %taken.away = icmp ne i64 %busy, 0
  %no.room = or i1 %too.few, %too.small
  %no.arena = or i1 %no.room, %taken.away
  br i1 %no.arena, label %another, label %fill
another:
  %arena.next = add i64 %arena, 1
  %no.more = icmp eq i64 %arena.next, ${ARENA_SETS}
  br i1 %no.more, label %slow, label %seek
fill:
  store i64 1, ptr %busy.at
  %entry.point = load i64, ptr %function
  %groups.at = getelementptr i64, ptr %function, i64 1
  %groups = load i64, ptr %groups.at
  %chunk.at = getelementptr i64, ptr %function, i64 2
  %chunk = load i64, ptr %chunk.at
  %job.context = getelementptr i64, ptr %job, i64 1
  %job.groups = getelementptr i64, ptr %job, i64 2
  %job.threads = getelementptr i64, ptr %job, i64 3
  %job.chunk = getelementptr i64, ptr %job, i64 4
  store i64 %entry.point, ptr %job
  store ptr %launch, ptr %job.context
  store i64 %groups, ptr %job.groups
  store i64 %threads, ptr %job.threads
  store i64 %chunk, ptr %job.chunk
  %extents.from = getelementptr i64, ptr %function, i64 4
  call void @copy(ptr %launch, ptr %extents.from, i64 6)
  %launch.slots = getelementptr i64, ptr %launch, i64 6
  %launch.arenas = getelementptr i64, ptr %launch, i64 7
  %launch.dynamic = getelementptr i64, ptr %launch, i64 8
  %launch.errors = getelementptr i64, ptr %launch, i64 9
  %dynamic.at = getelementptr i64, ptr %function, i64 10
  %dynamic = load i64, ptr %dynamic.at
  store ptr %slots, ptr %launch.slots
  store ptr %arena.table, ptr %launch.arenas
  store i64 %dynamic, ptr %launch.dynamic
  %own.count.at = getelementptr i64, ptr %function, i64 14
  %own.count = load i64, ptr %own.count.at
  %own.from = getelementptr i64, ptr %function, i64 15
  %own.at = getelementptr i64, ptr %slots, i64 %slot
  call void @copy(ptr %own.at, ptr %own.from, i64 %own.count)
  store ptr %errors, ptr %launch.errors
  store [${ERROR_WORDS} x i64] zeroinitializer, ptr %errors
  %outcome = call i32 %enter.by(ptr @weft_pool_launch, ptr %pool, ptr %job)
  store i64 0, ptr %busy.at
  %signalled = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %signalled, null
  br i1 %quiet, label %ended, label %failed
ended:
  %whole.grid = icmp eq i32 %outcome, 0
  br i1 %whole.grid, label %nothing, label %broken
broken:
  ; Kernels with barriers say where threads wait.
  %told.at = getelementptr i64, ptr %record, i64 8
  %told = load i64, ptr %told.at
  %untold = icmp eq i64 %told, 0
  br i1 %untold, label %unexplained, label %explained
explained:
  %stopped.answer = call ptr @finish(ptr %self, ptr %record, ptr %errors, ptr %values, i64 %values.count)
  ret ptr %stopped.answer
unexplained:
  call void @PyErr_SetString(ptr @_Py_RuntimeError, ptr @stopped)
  ret ptr null
result:
  %spare.at = getelementptr i64, ptr %record, i64 4
  %spare = load i64, ptr %spare.at
  %single = call ptr @object(i64 %result.kind, i64 %spare, ptr %memory)
  ret ptr %single
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
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

; The arguments of all parameters, given by position or by name, or by default; how many there are, and -1 if that is not
; so. The words: how many parameters, and the name and the default of each, 0 without one.
define internal i64 @bind(ptr %words, ptr %args, i64 %count, ptr %keywords, ptr %to) {
entry:
  %none = icmp eq ptr %words, null
  br i1 %none, label %no, label %begin
begin:
  %parameters = load i64, ptr %words
  %described = getelementptr ptr, ptr %words, i64 1
  %names = call i64 @count_names(ptr %keywords)
  %given = add i64 %count, %names
  %fit = icmp sle i64 %given, %parameters
  br i1 %fit, label %clear, label %no
clear:
  %c = phi i64 [ 0, %begin ], [ %c.next, %put ]
  %cleared = icmp eq i64 %c, %parameters
  br i1 %cleared, label %name, label %look
look:
  %by.position = icmp slt i64 %c, %count
  %arg.at = getelementptr ptr, ptr %args, i64 %c
  br i1 %by.position, label %arg, label %put
arg:
  %argument = load ptr, ptr %arg.at
  br label %put
put:
  %known = phi ptr [ null, %look ], [ %argument, %arg ]
  %c.at = getelementptr ptr, ptr %to, i64 %c
  store ptr %known, ptr %c.at
  %c.next = add i64 %c, 1
  br label %clear
name:
  %n = phi i64 [ 0, %clear ], [ %n.next, %fill ]
  %all.named = icmp eq i64 %n, %names
  br i1 %all.named, label %default, label %seek
seek:
  %wanted = call ptr @PyTuple_GetItem(ptr %keywords, i64 %n)
  br label %try
try:
  %k = phi i64 [ 0, %seek ], [ %k.next, %other ]
  %unknown = icmp eq i64 %k, %parameters
  br i1 %unknown, label %no, label %compare
compare:
  %k.word = mul i64 %k, 2
  %k.at = getelementptr ptr, ptr %described, i64 %k.word
  %k.name = load ptr, ptr %k.at
  %same = icmp eq ptr %k.name, %wanted
  br i1 %same, label %free, label %other
other:
  %k.next = add i64 %k, 1
  br label %try
free:
  %k.to = getelementptr ptr, ptr %to, i64 %k
  %there = load ptr, ptr %k.to
  %is.free = icmp eq ptr %there, null
  br i1 %is.free, label %fill, label %no
fill:
  %n.place = add i64 %count, %n
  %n.at = getelementptr ptr, ptr %args, i64 %n.place
  %n.value = load ptr, ptr %n.at
  store ptr %n.value, ptr %k.to
  %n.next = add i64 %n, 1
  br label %name
default:
  %d = phi i64 [ 0, %name ], [ %d.next, %stay ]
  %done = icmp eq i64 %d, %parameters
  br i1 %done, label %yes, label %lacks
lacks:
  %d.to = getelementptr ptr, ptr %to, i64 %d
  %d.value = load ptr, ptr %d.to
  %d.lacks = icmp eq ptr %d.value, null
  %d.next = add i64 %d, 1
  br i1 %d.lacks, label %take, label %stay
take:
  %d.pair = mul i64 %d, 2
  %d.word = add i64 %d.pair, 1
  %d.at = getelementptr ptr, ptr %described, i64 %d.word
  %d.default = load ptr, ptr %d.at
  store ptr %d.default, ptr %d.to
  %d.none = icmp eq ptr %d.default, null
  br i1 %d.none, label %no, label %stay
stay:
  br label %default
yes:
  ret i64 %parameters
no:
  ret i64 -1
}

; The arguments, and behind each tuple its items; how many there are, and -1 if these are too many.
define internal i64 @flatten(ptr %args, i64 %count, ptr %to) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %at = phi i64 [ 0, %entry ], [ %behind, %one ]
  %done = icmp eq i64 %k, %count
  %failed = icmp slt i64 %at, 0
  %over = or i1 %done, %failed
  br i1 %over, label %tell, label %one
one:
  %arg.at = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg.at
  %behind = call i64 @put(ptr %arg, ptr %to, i64 %at)
  %k.next = add i64 %k, 1
  br label %check
tell:
  ret i64 %at
}

define internal i64 @put(ptr %object, ptr %to, i64 %at) {
entry:
  %full = icmp eq i64 %at, ${SLOTS}
  br i1 %full, label %no, label %room
room:
  %to.at = getelementptr ptr, ptr %to, i64 %at
  store ptr %object, ptr %to.at
  %next = add i64 %at, 1
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %is.tuple = icmp eq ptr %type, @weft_tuple_type
  br i1 %is.tuple, label %items, label %leaf
leaf:
  ret i64 %next
items:
  %count = call i64 @PyTuple_Size(ptr %object)
  br label %check
check:
  %k = phi i64 [ 0, %items ], [ %k.next, %one ]
  %place = phi i64 [ %next, %items ], [ %behind, %one ]
  %done = icmp eq i64 %k, %count
  %failed = icmp slt i64 %place, 0
  %over = or i1 %done, %failed
  br i1 %over, label %tell, label %one
one:
  %item = call ptr @PyTuple_GetItem(ptr %object, i64 %k)
  %behind = call i64 @put(ptr %item, ptr %to, i64 %place)
  %k.next = add i64 %k, 1
  br label %check
tell:
  ret i64 %place
no:
  ret i64 -1
}

; Take scratch memory as a launch does; false if one has it. All who do hold the GIL.
define i32 @weft_arena_claim(i64 %arena) {
entry:
  %at = getelementptr [4 x i64], ptr @weft_arenas, i64 %arena, i64 3
  %busy = load i64, ptr %at
  %free = icmp eq i64 %busy, 0
  br i1 %free, label %take, label %leave
take:
  store i64 1, ptr %at
  ret i32 1
leave:
  ret i32 0
}

; The method that makes a value of a result's words, or raises the error in its frame.
define internal ptr @finish(ptr %self, ptr %record, ptr %memory, ptr %args, i64 %count) {
entry:
  %size.at = getelementptr i64, ptr %record, i64 8
  %size = load i64, ptr %size.at
  %number = call ptr @PyLong_FromVoidPtr(ptr %record)
  %words = call ptr @PyBytes_FromStringAndSize(ptr %memory, i64 %size)
  %no.number = icmp eq ptr %number, null
  %no.words = icmp eq ptr %words, null
  %lacking = or i1 %no.number, %no.words
  br i1 %lacking, label %failed, label %call
call:
  %given = add i64 %count, 3
  %stack = alloca ptr, i64 %given, align 16
  store ptr %self, ptr %stack
  %second = getelementptr ptr, ptr %stack, i64 1
  store ptr %number, ptr %second
  %third = getelementptr ptr, ptr %stack, i64 2
  store ptr %words, ptr %third
  %rest = getelementptr ptr, ptr %stack, i64 3
  call void @copy(ptr %rest, ptr %args, i64 %count)
  %method.at = getelementptr ptr, ptr @weft_names, i64 2
  %method = load ptr, ptr %method.at
  %answer = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %stack, i64 %given, ptr null)
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %words)
  ret ptr %answer
failed:
  ret ptr null
}

; Whether an int is a number (for a count of 0), or a tuple of ints is so many numbers.
define internal i1 @is_size(ptr %object, i64 %count, ptr %wanted) {
entry:
  %alone = icmp eq i64 %count, 0
  br i1 %alone, label %number, label %tuple
number:
  %same = call i1 @is_extent(ptr %object, ptr %wanted)
  ret i1 %same
tuple:
  %length = call i64 @PyTuple_Size(ptr %object)
  %as.long = icmp eq i64 %length, %count
  br i1 %as.long, label %check, label %no
check:
  %k = phi i64 [ 0, %tuple ], [ %next, %item ]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %yes, label %item
item:
  %extent = call ptr @PyTuple_GetItem(ptr %object, i64 %k)
  %wanted.at = getelementptr i64, ptr %wanted, i64 %k
  %equal = call i1 @is_extent(ptr %extent, ptr %wanted.at)
  %next = add i64 %k, 1
  br i1 %equal, label %check, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @is_extent(ptr %object, ptr %wanted) {
entry:
  %overflow = alloca i32, align 4
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %is.int = icmp eq ptr %type, @weft_int_type
  br i1 %is.int, label %compare, label %no
compare:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  %number = load i64, ptr %wanted
  %equal = icmp eq i64 %value, %number
  %same = and i1 %fits, %equal
  ret i1 %same
no:
  ret i1 false
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

; A number times the extents of an array.
define internal i64 @volume(i64 %size, ptr %extents, i64 %count) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %product = phi i64 [ %size, %entry ], [ %larger, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i64, ptr %extents, i64 %k
  %extent = load i64, ptr %at
  %larger = mul i64 %product, %extent
  %next = add i64 %k, 1
  br label %check
done:
  ret i64 %product
}

; Where an array's lowest byte is, and what is behind its highest: 0 and 0 of one that is empty, which overlaps nothing.
define internal void @reach(ptr %begin.at, ptr %end.at, i64 %data, i64 %size, ptr %extents, ptr %steps, i64 %count) {
entry:
  %behind = add i64 %data, %size
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %moved ]
  %low = phi i64 [ %data, %entry ], [ %lower, %moved ]
  %high = phi i64 [ %behind, %entry ], [ %higher, %moved ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i64, ptr %extents, i64 %k
  %extent = load i64, ptr %at
  %empty = icmp eq i64 %extent, 0
  br i1 %empty, label %nothing, label %moved
moved:
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at
  %others = sub i64 %extent, 1
  %span = mul i64 %others, %step
  %down = call i64 @llvm.smin.i64(i64 %span, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %span, i64 0)
  %lower = add i64 %low, %down
  %higher = add i64 %high, %up
  %next = add i64 %k, 1
  br label %check
nothing:
  br label %done
done:
  %first = phi i64 [ %low, %check ], [ 0, %nothing ]
  %last = phi i64 [ %high, %check ], [ 0, %nothing ]
  store i64 %first, ptr %begin.at
  store i64 %last, ptr %end.at
  ret void
}

; Whether two of some stretches of memory overlap, one of which has its bit set.
define internal i1 @overlap(ptr %begins, ptr %ends, i64 %count, i64 %written) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.next ]
  %some = icmp slt i64 %i, %count
  br i1 %some, label %first, label %none
first:
  %begin.at = getelementptr i64, ptr %begins, i64 %i
  %end.at = getelementptr i64, ptr %ends, i64 %i
  %begin = load i64, ptr %begin.at
  %end = load i64, ptr %end.at
  br label %inner
inner:
  %j = phi i64 [ 0, %first ], [ %j.next, %inner.next ]
  %before = icmp slt i64 %j, %i
  br i1 %before, label %second, label %outer.next
second:
  %other.begin.at = getelementptr i64, ptr %begins, i64 %j
  %other.end.at = getelementptr i64, ptr %ends, i64 %j
  %other.begin = load i64, ptr %other.begin.at
  %other.end = load i64, ptr %other.end.at
  %left = icmp ult i64 %begin, %other.end
  %right = icmp ult i64 %other.begin, %end
  %both = and i1 %left, %right
  ; The one behind all arguments is memory of a kernel's program, which has all bits set.
  %i.bit = and i64 %i, 63
  %i.written = lshr i64 %written, %i.bit
  %j.written = lshr i64 %written, %j
  %some.written = or i64 %i.written, %j.written
  %is.written = trunc i64 %some.written to i1
  %meet = and i1 %both, %is.written
  br i1 %meet, label %found, label %inner.next
inner.next:
  %j.next = add i64 %j, 1
  br label %inner
outer.next:
  %i.next = add i64 %i, 1
  br label %outer
found:
  ret i1 true
none:
  ret i1 false
}
