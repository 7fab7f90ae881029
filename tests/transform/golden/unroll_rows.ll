define i64 @f(ptr %x, i64 %row, i64 %length, ptr %rows) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %at = getelementptr i64, ptr %rows, i64 %id
  %found = load i64, ptr %at
  br label %head.1

head:
  %more = icmp slt i64 %next.2, 3
  br label %out

out:
  %result = phi i64 [ %sum.2, %head ]
  ret i64 %result

head.1:
  %more.1 = icmp slt i64 0, 3
  br label %body

body:
  %begin = mul nuw nsw i64 %id, %length
  %first = getelementptr i64, ptr %x, i64 %begin
  %element = getelementptr i64, ptr %first, i64 0
  %value = load i64, ptr %element
  %sum = add i64 0, %value
  %next = add nuw nsw i64 0, 1
  br label %head.2

head.2:
  %more.2 = icmp slt i64 %next, 3
  br label %body.1

body.1:
  %begin.1 = mul nuw nsw i64 %id, %length
  %first.1 = getelementptr i64, ptr %x, i64 %begin.1
  %element.1 = getelementptr i64, ptr %first.1, i64 %next
  %value.1 = load i64, ptr %element.1
  %sum.1 = add i64 %sum, %value.1
  %next.1 = add nuw nsw i64 %next, 1
  br label %head.3

head.3:
  %more.3 = icmp slt i64 %next.1, 3
  br label %body.2

body.2:
  %begin.2 = mul nuw nsw i64 %id, %length
  %first.2 = getelementptr i64, ptr %x, i64 %begin.2
  %element.2 = getelementptr i64, ptr %first.2, i64 %next.1
  %value.2 = load i64, ptr %element.2
  %sum.2 = add i64 %sum.1, %value.2
  %next.2 = add nuw nsw i64 %next.1, 1
  br label %head
}
