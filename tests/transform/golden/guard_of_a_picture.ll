; ModuleID = 'weft'

define void @k(ptr %out, i64 %width, i64 %height, i64 noundef range(i64 0, 2199023255552) %tid.x, i64 noundef range(i64 0, 1024) %tid.y, i64 noundef range(i64 0, 1024) %tid.z, i64 noundef range(i64 0, 2147483648) %gid.x, i64 noundef range(i64 0, 2147483648) %gid.y, i64 noundef range(i64 0, 2147483648) %gid.z, i64 noundef range(i64 1, 1025) %lsize.x, i64 noundef range(i64 1, 1025) %lsize.y, i64 noundef range(i64 1, 1025) %lsize.z, i64 noundef range(i64 1, 2147483649) %groups.x, i64 noundef range(i64 1, 2147483649) %groups.y, i64 noundef range(i64 1, 2147483649) %groups.z, ptr addrspace(3) noundef %shared, ptr addrspace(3) noundef %shared.dynamic, i64 noundef range(i64 0, 2147483648) %shared.dynamic.size) {
entry:
  %start.y = mul nuw nsw i64 %gid.y, %lsize.y
  %j = add nuw nsw i64 %start.y, %tid.y
  br label %body

body:
  %row = mul nsw i64 %j, %width
  %index = add nsw i64 %row, %tid.x
  %at = getelementptr i8, ptr %out, i64 %index
  store i8 1, ptr %at
  br label %exit

exit:
  ret void
}

declare i64 @weft.local.id(i32) #0

declare i64 @weft.group.id(i32) #0

declare i64 @weft.local.size(i32) #0

declare i64 @weft.num.groups(i32) #0

declare ptr addrspace(3) @weft.shared(i32) #0

declare i1 @weft.any(i1) #1

declare void @weft.syncwarp() #1

declare i64 @llvm.smax.i64(i64, i64)

declare i64 @llvm.smin.i64(i64, i64)

define { i64, i64 } @k.bounds(ptr %out, i64 %width, i64 %height, i64 noundef range(i64 0, 2199023255552) %tid.x, i64 noundef range(i64 0, 1024) %tid.y, i64 noundef range(i64 0, 1024) %tid.z, i64 noundef range(i64 0, 2147483648) %gid.x, i64 noundef range(i64 0, 2147483648) %gid.y, i64 noundef range(i64 0, 2147483648) %gid.z, i64 noundef range(i64 1, 1025) %lsize.x, i64 noundef range(i64 1, 1025) %lsize.y, i64 noundef range(i64 1, 1025) %lsize.z, i64 noundef range(i64 1, 2147483649) %groups.x, i64 noundef range(i64 1, 2147483649) %groups.y, i64 noundef range(i64 1, 2147483649) %groups.z, ptr addrspace(3) noundef %shared, ptr addrspace(3) noundef %shared.dynamic, i64 noundef range(i64 0, 2147483648) %shared.dynamic.size, i64 %begin, i64 %end) #2 {
entry:
  %0 = call i64 @llvm.smax.i64(i64 %begin, i64 1)
  %1 = freeze i64 %width
  %2 = call i64 @llvm.smin.i64(i64 %end, i64 %1)
  %start.y = mul nuw nsw i64 %gid.y, %lsize.y
  %j = add nuw nsw i64 %start.y, %tid.y
  %below = icmp sge i64 %j, %height
  %3 = freeze i1 %below
  %4 = select i1 %3, i64 %begin, i64 %2
  %5 = insertvalue { i64, i64 } poison, i64 %0, 0
  %6 = insertvalue { i64, i64 } %5, i64 %4, 1
  ret { i64, i64 } %6
}


attributes #0 = { nounwind speculatable willreturn memory(none) }
attributes #1 = { nounwind convergent }
attributes #2 = { nounwind }
