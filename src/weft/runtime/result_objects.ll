; The objects of results of compiled functions; weft/runtime/dispatch_records.py tells what the words mean.
; This is one module with dispatch.ll, which has the declarations.

; The object of a result that is a number or None, of so many bits less than 64.
define internal ptr @object(i64 %kind, i64 %spare, ptr %memory) {
entry:
  %word = load i64, ptr %memory
  %upper = shl i64 %word, %spare
  switch i64 %kind, label %nothing [ i64 1, label %double
    i64 2, label %single
    i64 3, label %boolean
    i64 4, label %signed
    i64 5, label %unsigned
    i64 ${COMPLEX}, label %complex ]
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
complex:
  %imaginary.at = getelementptr i64, ptr %memory, i64 1
  %of.singles = icmp ne i64 %spare, 0
  br i1 %of.singles, label %complex.singles, label %complex.doubles
complex.singles:
  %real.single = load float, ptr %memory
  %imaginary.single = load float, ptr %imaginary.at
  %real.long = fpext float %real.single to double
  %imaginary.long = fpext float %imaginary.single to double
  %as.singles = call ptr @PyComplex_FromDoubles(double %real.long, double %imaginary.long)
  ret ptr %as.singles
complex.doubles:
  %real.double = load double, ptr %memory
  %imaginary.double = load double, ptr %imaginary.at
  %as.doubles = call ptr @PyComplex_FromDoubles(double %real.double, double %imaginary.double)
  ret ptr %as.doubles
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
}

; The objects of a result's items, with new references: 0; 1 where Python code has to make them, 2 after an error. Blocks
; that no item leads into are freed then, as after an error.
;
; Of each item there are kind, spare bits or layout, where its words begin, dtype, dimensions, bytes of an element.
define internal i32 @objects(ptr %record, ptr %memory, ptr %frame, ptr %values, i64 %count, ptr %to) {
entry:
  %items.at = getelementptr i64, ptr %record, i64 7
  %items = load ptr, ptr %items.at
  %number.at = getelementptr i64, ptr %record, i64 4
  %number.told = load i64, ptr %number.at
  %described = getelementptr i64, ptr %record, i64 ${HEADER}
  %has.frame = icmp ne ptr %frame, null
  br label %each
each:
  ; Numbers and what is lent first: from then on nothing is left to Python code.
  %n = phi i64 [ 0, %entry ], [ %n.next, %put ]
  %all = icmp eq i64 %n, %number.told
  br i1 %all, label %own, label %look
look:
  %n.word = mul i64 %n, ${ITEM_WORDS}
  %item = getelementptr i64, ptr %items, i64 %n.word
  %kind = load i64, ptr %item
  %place.at = getelementptr i64, ptr %item, i64 2
  %place = load i64, ptr %place.at
  %words = getelementptr i64, ptr %memory, i64 %place
  %is.array = icmp eq i64 %kind, ${ARRAY}
  br i1 %is.array, label %array, label %number
number:
  %spare.at = getelementptr i64, ptr %item, i64 1
  %spare = load i64, ptr %spare.at
  %made = call ptr @object(i64 %kind, i64 %spare, ptr %words)
  br label %check
array:
  %block = call ptr @block_with(ptr %frame, ptr %words)
  %foreign = icmp eq ptr %block, null
  br i1 %foreign, label %argument, label %others
argument:
  %lent = call ptr @lent(ptr %item, ptr %words, ptr %described, ptr %values, i64 %count)
  br label %check
others:
  ; A block has one owner: two arrays in it are made by Python code.
  %m = phi i64 [ 0, %array ], [ %m.next, %different ]
  %none.shares = icmp eq i64 %m, %n
  br i1 %none.shares, label %put, label %other
other:
  %m.word = mul i64 %m, ${ITEM_WORDS}
  %m.item = getelementptr i64, ptr %items, i64 %m.word
  %m.kind = load i64, ptr %m.item
  %m.place.at = getelementptr i64, ptr %m.item, i64 2
  %m.place = load i64, ptr %m.place.at
  %m.words = getelementptr i64, ptr %memory, i64 %m.place
  %m.is.array = icmp eq i64 %m.kind, ${ARRAY}
  br i1 %m.is.array, label %owner, label %different
owner:
  %m.block = call ptr @block_with(ptr %frame, ptr %m.words)
  %shared = icmp eq ptr %m.block, %block
  br i1 %shared, label %leave, label %different
different:
  %m.next = add i64 %m, 1
  br label %others
check:
  %object = phi ptr [ %made, %number ], [ %lent, %argument ]
  %lacking = icmp eq ptr %object, null
  br i1 %lacking, label %leave, label %put
put:
  %stored = phi ptr [ null, %others ], [ %object, %check ]
  %to.at = getelementptr ptr, ptr %to, i64 %n
  store ptr %stored, ptr %to.at
  %n.next = add i64 %n, 1
  br label %each
leave:
  call void @drop(ptr %to, i64 %n)
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %python, label %abandon
python:
  ret i32 1
own:
  %k = phi i64 [ 0, %each ], [ %k.next, %owned ]
  %all.owned = icmp eq i64 %k, %number.told
  br i1 %all.owned, label %done, label %empty.place
empty.place:
  %k.at = getelementptr ptr, ptr %to, i64 %k
  %there = load ptr, ptr %k.at
  %is.there = icmp ne ptr %there, null
  br i1 %is.there, label %owned, label %take
take:
  %k.word = mul i64 %k, ${ITEM_WORDS}
  %k.item = getelementptr i64, ptr %items, i64 %k.word
  %k.place.at = getelementptr i64, ptr %k.item, i64 2
  %k.place = load i64, ptr %k.place.at
  %k.words = getelementptr i64, ptr %memory, i64 %k.place
  %k.object = call ptr @owning(ptr %k.item, ptr %k.words, ptr %frame)
  store ptr %k.object, ptr %k.at
  %k.failed = icmp eq ptr %k.object, null
  br i1 %k.failed, label %not.owned, label %owned
owned:
  %k.next = add i64 %k, 1
  br label %own
not.owned:
  call void @drop(ptr %to, i64 %number.told)
  br label %abandon
abandon:
  br i1 %has.frame, label %free.all, label %failed
free.all:
  call void @free_blocks(ptr %frame)
  br label %failed
failed:
  ret i32 2
done:
  br i1 %has.frame, label %free.rest, label %given
free.rest:
  call void @free_blocks(ptr %frame)
  br label %given
given:
  ret i32 0
}

; Let go of objects; some may be missing.
define internal void @drop(ptr %objects, i64 %count) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %seen ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %look, label %done
look:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  %missing = icmp eq ptr %object, null
  br i1 %missing, label %seen, label %release
release:
  call void @Py_DecRef(ptr %object)
  br label %seen
seen:
  %next = add i64 %k, 1
  br label %check
done:
  ret void
}

; A tuple, which takes the references.
define internal ptr @tuple_of(ptr %objects, i64 %count) {
entry:
  %pack = call ptr @PyTuple_New(i64 %count)
  %no.pack = icmp eq ptr %pack, null
  br i1 %no.pack, label %failed, label %check
failed:
  call void @drop(ptr %objects, i64 %count)
  ret ptr null
check:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %put, label %done
put:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  %set = call i32 @PyTuple_SetItem(ptr %pack, i64 %k, ptr %object)
  %next = add i64 %k, 1
  br label %check
done:
  ret ptr %pack
}

; The block of a frame that the array of some words is in, or null; there may be no frame.
define internal ptr @block_with(ptr %frame, ptr %words) {
entry:
  %address = load i64, ptr %words
  %no.frame = icmp eq ptr %frame, null
  br i1 %no.frame, label %none, label %begin
begin:
  %first = load ptr, ptr %frame
  br label %check
check:
  %block = phi ptr [ %first, %begin ], [ %following, %next ]
  %last = icmp eq ptr %block, null
  br i1 %last, label %none, label %compare
compare:
  %content = getelementptr i8, ptr %block, i64 ${HEADER_BYTES}
  %low = ptrtoint ptr %content to i64
  %size.at = getelementptr i64, ptr %block, i64 1
  %size = load i64, ptr %size.at
  %distance = sub i64 %address, %low
  %at.begin = icmp eq i64 %distance, 0
  %inside = icmp ult i64 %distance, %size
  %found = or i1 %at.begin, %inside
  br i1 %found, label %tell, label %next
next:
  %following = load ptr, ptr %block
  br label %check
tell:
  ret ptr %block
none:
  ret ptr null
}

; An array that the block which it is in is freed with; the frame has it no longer.
define internal ptr @owning(ptr %item, ptr %words, ptr %frame) {
entry:
  %block = call ptr @block_with(ptr %frame, ptr %words)
  %raw.at = getelementptr i64, ptr %block, i64 3
  %raw = load ptr, ptr %raw.at
  %following = load ptr, ptr %block
  %capsule = call ptr @PyCapsule_New(ptr %raw, ptr null, ptr @free_capsule)
  %no.capsule = icmp eq ptr %capsule, null
  br i1 %no.capsule, label %failed, label %seek
failed:
  ret ptr null
seek:
  %before = phi ptr [ %frame, %entry ], [ %next, %other ]
  %next = load ptr, ptr %before
  %is.it = icmp eq ptr %next, %block
  br i1 %is.it, label %unlink, label %other
other:
  br label %seek
unlink:
  store ptr %following, ptr %before
  %array = call ptr @array_in(ptr %item, ptr %words, i32 ${OWN_FLAGS}, ptr %capsule)
  ret ptr %array
}

; An array of memory that the base keeps, to which this takes a reference. Of the flags, it is not to be written where the
; result's type says so.
define internal ptr @array_in(ptr %item, ptr %words, i32 %flags, ptr %base) {
entry:
  %layout.at = getelementptr i64, ptr %item, i64 1
  %layout = load i64, ptr %layout.at
  %dtype.at = getelementptr i64, ptr %item, i64 3
  %dtype = load ptr, ptr %dtype.at
  %ndim.at = getelementptr i64, ptr %item, i64 4
  %ndim = load i64, ptr %ndim.at
  %dimensions = trunc i64 %ndim to i32
  %begin = load ptr, ptr %words
  %shape = getelementptr i64, ptr %words, i64 1
  %behind = getelementptr i64, ptr %shape, i64 %ndim
  %ordered = and i64 %layout, ${C_ORDER}
  %in.order = icmp ne i64 %ordered, 0
  %steps = select i1 %in.order, ptr null, ptr %behind
  %protected = and i64 %layout, ${READONLY}
  %may.write = icmp eq i64 %protected, 0
  %allowed = select i1 %may.write, i32 -1, i32 ${NOT_WRITEABLE}
  %kept.flags = and i32 %flags, %allowed
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr @weft_new_array(ptr @weft_array_type, ptr %dtype, i32 %dimensions, ptr %shape, ptr %steps, ptr %begin,
                                   i32 %kept.flags, ptr null)
  %no.array = icmp eq ptr %made, null
  br i1 %no.array, label %release, label %tie
release:
  call void @Py_DecRef(ptr %base)
  ret ptr null
tie:
  %tied = call i32 @weft_set_base(ptr %made, ptr %base)
  %is.tied = icmp eq i32 %tied, 0
  br i1 %is.tied, label %give, label %untied
untied:
  call void @Py_DecRef(ptr %made)
  ret ptr null
give:
  ret ptr %made
}

; An array that is an argument, with a new reference, or a view of one, or has no elements; null where it is none of these,
; or where Python code has to look.
define internal ptr @lent(ptr %item, ptr %words, ptr %described, ptr %values, i64 %count) {
entry:
  %own.steps = alloca [${SLOTS} x i64], align 16
  %layout.at = getelementptr i64, ptr %item, i64 1
  %layout = load i64, ptr %layout.at
  %dtype.at = getelementptr i64, ptr %item, i64 3
  %dtype = load ptr, ptr %dtype.at
  %ndim.at = getelementptr i64, ptr %item, i64 4
  %ndim = load i64, ptr %ndim.at
  %address = load i64, ptr %words
  %shape = getelementptr i64, ptr %words, i64 1
  %elements = call i64 @volume(i64 1, ptr %shape, i64 %ndim)
  %few = icmp ult i64 %elements, 2
  %contiguous.bit = and i64 %layout, ${C_ORDER}
  %contiguous = icmp ne i64 %contiguous.bit, 0
  br i1 %contiguous, label %fill, label %given
given:
  %given.steps = getelementptr i64, ptr %shape, i64 %ndim
  br label %seek
fill:
  %size.at = getelementptr i64, ptr %item, i64 5
  %size = load i64, ptr %size.at
  br label %filling
filling:
  %f = phi i64 [ %ndim, %fill ], [ %f.less, %step.put ]
  %step = phi i64 [ %size, %fill ], [ %step.next, %step.put ]
  %filled = icmp eq i64 %f, 0
  br i1 %filled, label %seek, label %step.put
step.put:
  %f.less = sub i64 %f, 1
  %step.at = getelementptr i64, ptr %own.steps, i64 %f.less
  store i64 %step, ptr %step.at
  %extent.at = getelementptr i64, ptr %shape, i64 %f.less
  %extent = load i64, ptr %extent.at
  %step.next = mul i64 %step, %extent
  br label %filling
seek:
  %steps = phi ptr [ %given.steps, %given ], [ %own.steps, %filling ]
  br label %same
same:
  ; One with the same elements; strides along dimensions of one element or none mean nothing.
  %k = phi i64 [ 0, %seek ], [ %k.next, %other ]
  %all.seen = icmp eq i64 %k, %count
  br i1 %all.seen, label %some, label %look
other:
  %k.next = add i64 %k, 1
  br label %same
look:
  %k.word = mul i64 %k, 6
  %k.described = getelementptr i64, ptr %described, i64 %k.word
  %k.kind = load i64, ptr %k.described
  %k.is.array = icmp eq i64 %k.kind, 3
  br i1 %k.is.array, label %begin, label %other
begin:
  %k.at = getelementptr ptr, ptr %values, i64 %k
  %object = load ptr, ptr %k.at
  %data.at = getelementptr i8, ptr %object, i64 16
  %data = load i64, ptr %data.at
  %same.begin = icmp eq i64 %data, %address
  br i1 %same.begin, label %element, label %other
element:
  %element.at = getelementptr i8, ptr %object, i64 56
  %element.type = load ptr, ptr %element.at
  %same.element = icmp eq ptr %element.type, %dtype
  br i1 %same.element, label %dimensions, label %none
dimensions:
  %dimensions.at = getelementptr i8, ptr %object, i64 24
  %dimensions.found = load i32, ptr %dimensions.at
  %ndim.found = zext i32 %dimensions.found to i64
  %same.ndim = icmp eq i64 %ndim.found, %ndim
  br i1 %same.ndim, label %extents, label %other
extents:
  %shape.at = getelementptr i8, ptr %object, i64 32
  %shape.found = load ptr, ptr %shape.at
  %same.shape = call i1 @equal(ptr %shape.found, ptr %shape, i64 %ndim)
  br i1 %same.shape, label %strides, label %other
strides:
  %steps.at = getelementptr i8, ptr %object, i64 40
  %steps.found = load ptr, ptr %steps.at
  %same.steps = call i1 @equal(ptr %steps.found, ptr %steps, i64 %ndim)
  %flags.at = getelementptr i8, ptr %object, i64 64
  %flags = load i32, ptr %flags.at
  %in.order.bit = and i32 %flags, 1
  %in.order = icmp ne i32 %in.order.bit, 0
  %order.or.few = or i1 %in.order, %few
  %same.array = or i1 %same.steps, %order.or.few
  br i1 %same.array, label %itself, label %other
itself:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
some:
  %is.empty = icmp eq i64 %elements, 0
  br i1 %is.empty, label %empty, label %within
empty:
  call void @Py_IncRef(ptr %dtype)
  %empty.dimensions = trunc i64 %ndim to i32
  %without = call ptr @weft_new_array(ptr @weft_array_type, ptr %dtype, i32 %empty.dimensions, ptr %shape, ptr null,
                                      ptr null, i32 0, ptr null)
  ret ptr %without
within:
  %j = phi i64 [ 0, %some ], [ %j.next, %outside ]
  %none.left = icmp eq i64 %j, %count
  br i1 %none.left, label %none, label %search
outside:
  %j.next = add i64 %j, 1
  br label %within
search:
  %j.word = mul i64 %j, 6
  %j.described = getelementptr i64, ptr %described, i64 %j.word
  %j.kind = load i64, ptr %j.described
  %j.is.array = icmp eq i64 %j.kind, 3
  br i1 %j.is.array, label %bounds, label %outside
bounds:
  %j.at = getelementptr ptr, ptr %values, i64 %j
  %owner = load ptr, ptr %j.at
  %bytes.at = getelementptr i64, ptr %j.described, i64 5
  %bytes = load i64, ptr %bytes.at
  %inside = call i1 @inside(i64 %address, ptr %owner, i64 %bytes)
  br i1 %inside, label %view, label %outside
view:
  %owner.flags.at = getelementptr i8, ptr %owner, i64 64
  %owner.flags = load i32, ptr %owner.flags.at
  %view.flags = and i32 %owner.flags, ${VIEW_FLAGS}
  call void @Py_IncRef(ptr %owner)
  %made = call ptr @array_in(ptr %item, ptr %words, i32 %view.flags, ptr %owner)
  ret ptr %made
none:
  ret ptr null
}

; Whether an address is that of a byte between the lowest and the highest of an array.
define internal i1 @inside(i64 %address, ptr %array, i64 %bytes) {
entry:
  %data.at = getelementptr i8, ptr %array, i64 16
  %data = load i64, ptr %data.at
  %dimensions.at = getelementptr i8, ptr %array, i64 24
  %dimensions = load i32, ptr %dimensions.at
  %ndim = zext i32 %dimensions to i64
  %shape.at = getelementptr i8, ptr %array, i64 32
  %shape = load ptr, ptr %shape.at
  %steps.at = getelementptr i8, ptr %array, i64 40
  %steps = load ptr, ptr %steps.at
  %elements = call i64 @volume(i64 1, ptr %shape, i64 %ndim)
  %empty = icmp eq i64 %elements, 0
  br i1 %empty, label %no, label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %low = phi i64 [ %data, %entry ], [ %low.next, %body ]
  %last = phi i64 [ %data, %entry ], [ %last.next, %body ]
  %more = icmp slt i64 %k, %ndim
  br i1 %more, label %body, label %done
body:
  %extent.at = getelementptr i64, ptr %shape, i64 %k
  %extent = load i64, ptr %extent.at
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at
  %times = sub i64 %extent, 1
  %span = mul i64 %times, %step
  %backwards = icmp slt i64 %span, 0
  %down = select i1 %backwards, i64 %span, i64 0
  %up = select i1 %backwards, i64 0, i64 %span
  %low.next = add i64 %low, %down
  %last.next = add i64 %last, %up
  %next = add i64 %k, 1
  br label %check
done:
  %behind = add i64 %last, %bytes
  %from = icmp ule i64 %low, %address
  %to = icmp ult i64 %address, %behind
  %both = and i1 %from, %to
  ret i1 %both
no:
  ret i1 false
}

define internal i1 @equal(ptr %one, ptr %other, i64 %count) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %yes
body:
  %a = getelementptr i64, ptr %one, i64 %k
  %b = getelementptr i64, ptr %other, i64 %k
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %same = icmp eq i64 %x, %y
  %next = add i64 %k, 1
  br i1 %same, label %check, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; What a block is, weft/ir/heap.py tells.
define internal void @free_blocks(ptr %frame) {
entry:
  %first = load ptr, ptr %frame
  br label %look
look:
  %block = phi ptr [ %first, %entry ], [ %next, %one ]
  %last = icmp eq ptr %block, null
  br i1 %last, label %done, label %one
one:
  %next = load ptr, ptr %block
  %raw.at = getelementptr i64, ptr %block, i64 3
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  br label %look
done:
  ret void
}

define internal void @free_capsule(ptr %capsule) {
  %raw = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @free(ptr %raw)
  ret void
}
