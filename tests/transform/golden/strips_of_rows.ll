define void @k(ptr %z, ptr %out, i64 %t, i64 %n, i64 %m) "weft.kernel" "weft.arrays.apart" {
entry:
  %strip = alloca [16 x i32]
  %strip.1 = alloca [16 x i32]
  %0 = sub i64 %n, 0
  %1 = icmp sge i64 0, %n
  %2 = sub i64 %0, 1
  %3 = add i64 %2, 1
  %4 = select i1 %1, i64 0, i64 %3
  %5 = and i64 %4, -16
  br label %head.strips

head:
  %j = phi i64 [ %j.3, %head.rest ], [ %j.next, %latch ]
  %s = phi i32 [ %s.3, %head.rest ], [ %s.next, %latch ]
  %again = icmp slt i64 %j, %n
  br i1 %again, label %body, label %done

body:
  %row = mul nsw i64 %t, 48
  %place = add nsw i64 %row, %j
  %at = getelementptr i32, ptr %z, i64 %place
  %e = load i32, ptr %at
  br label %latch

latch:
  %s.odd = mul i32 %s, 31
  %s.next = add i32 %s.odd, %e
  %o.row = mul nsw i64 %t, 48
  %o.place = add nsw i64 %o.row, %j
  %o.behind = add nsw i64 %o.place, 4
  %o.at = getelementptr i32, ptr %out, i64 %o.behind
  store i32 %s.next, ptr %o.at
  %j.next = add nsw i64 %j, 1
  br label %head

done:
  %s.out = phi i32 [ %s, %head ]
  %last = getelementptr i32, ptr %out, i64 %t
  store i32 %s.out, ptr %last
  ret void

head.strips:
  %strips = phi i64 [ 0, %entry ], [ %85, %head.stored ]
  %j.1 = phi i64 [ 0, %entry ], [ %j.2, %head.stored ]
  %s.1 = phi i32 [ 1, %entry ], [ %s.2, %head.stored ]
  %6 = icmp ult i64 %strips, %5
  br i1 %6, label %head.strip, label %head.rest

head.strip:
  %row.1 = mul nsw i64 %t, 48
  %place.1 = add nsw i64 %row.1, %j.1
  %at.1 = getelementptr i32, ptr %z, i64 %place.1
  %o.row.1 = mul nsw i64 %t, 48
  %o.place.1 = add nsw i64 %o.row.1, %j.1
  %o.behind.1 = add nsw i64 %o.place.1, 4
  %o.at.1 = getelementptr i32, ptr %out, i64 %o.behind.1
  %e.1 = load i32, ptr %at.1
  %7 = getelementptr i8, ptr %at.1, i64 4
  %e.2 = load i32, ptr %7
  %8 = getelementptr i8, ptr %at.1, i64 8
  %e.3 = load i32, ptr %8
  %9 = getelementptr i8, ptr %at.1, i64 12
  %e.4 = load i32, ptr %9
  %10 = getelementptr i8, ptr %at.1, i64 16
  %e.5 = load i32, ptr %10
  %11 = getelementptr i8, ptr %at.1, i64 20
  %e.6 = load i32, ptr %11
  %12 = getelementptr i8, ptr %at.1, i64 24
  %e.7 = load i32, ptr %12
  %13 = getelementptr i8, ptr %at.1, i64 28
  %e.8 = load i32, ptr %13
  %14 = getelementptr i8, ptr %at.1, i64 32
  %e.9 = load i32, ptr %14
  %15 = getelementptr i8, ptr %at.1, i64 36
  %e.10 = load i32, ptr %15
  %16 = getelementptr i8, ptr %at.1, i64 40
  %e.11 = load i32, ptr %16
  %17 = getelementptr i8, ptr %at.1, i64 44
  %e.12 = load i32, ptr %17
  %18 = getelementptr i8, ptr %at.1, i64 48
  %e.13 = load i32, ptr %18
  %19 = getelementptr i8, ptr %at.1, i64 52
  %e.14 = load i32, ptr %19
  %20 = getelementptr i8, ptr %at.1, i64 56
  %e.15 = load i32, ptr %20
  %21 = getelementptr i8, ptr %at.1, i64 60
  %e.16 = load i32, ptr %21
  %22 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 0
  store i32 %e.1, ptr %22
  %23 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 1
  store i32 %e.2, ptr %23
  %24 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 2
  store i32 %e.3, ptr %24
  %25 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 3
  store i32 %e.4, ptr %25
  %26 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 4
  store i32 %e.5, ptr %26
  %27 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 5
  store i32 %e.6, ptr %27
  %28 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 6
  store i32 %e.7, ptr %28
  %29 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 7
  store i32 %e.8, ptr %29
  %30 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 8
  store i32 %e.9, ptr %30
  %31 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 9
  store i32 %e.10, ptr %31
  %32 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 10
  store i32 %e.11, ptr %32
  %33 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 11
  store i32 %e.12, ptr %33
  %34 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 12
  store i32 %e.13, ptr %34
  %35 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 13
  store i32 %e.14, ptr %35
  %36 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 14
  store i32 %e.15, ptr %36
  %37 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 15
  store i32 %e.16, ptr %37
  br label %head.own

head.stored:
  %s.2 = phi i32 [ %s.4, %head.own ]
  %j.2 = phi i64 [ %j.4, %head.own ]
  %38 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 0
  %39 = load i32, ptr %38
  %40 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 1
  %41 = load i32, ptr %40
  %42 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 2
  %43 = load i32, ptr %42
  %44 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 3
  %45 = load i32, ptr %44
  %46 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 4
  %47 = load i32, ptr %46
  %48 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 5
  %49 = load i32, ptr %48
  %50 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 6
  %51 = load i32, ptr %50
  %52 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 7
  %53 = load i32, ptr %52
  %54 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 8
  %55 = load i32, ptr %54
  %56 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 9
  %57 = load i32, ptr %56
  %58 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 10
  %59 = load i32, ptr %58
  %60 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 11
  %61 = load i32, ptr %60
  %62 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 12
  %63 = load i32, ptr %62
  %64 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 13
  %65 = load i32, ptr %64
  %66 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 14
  %67 = load i32, ptr %66
  %68 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 15
  %69 = load i32, ptr %68
  store i32 %39, ptr %o.at.1
  %70 = getelementptr i8, ptr %o.at.1, i64 4
  store i32 %41, ptr %70
  %71 = getelementptr i8, ptr %o.at.1, i64 8
  store i32 %43, ptr %71
  %72 = getelementptr i8, ptr %o.at.1, i64 12
  store i32 %45, ptr %72
  %73 = getelementptr i8, ptr %o.at.1, i64 16
  store i32 %47, ptr %73
  %74 = getelementptr i8, ptr %o.at.1, i64 20
  store i32 %49, ptr %74
  %75 = getelementptr i8, ptr %o.at.1, i64 24
  store i32 %51, ptr %75
  %76 = getelementptr i8, ptr %o.at.1, i64 28
  store i32 %53, ptr %76
  %77 = getelementptr i8, ptr %o.at.1, i64 32
  store i32 %55, ptr %77
  %78 = getelementptr i8, ptr %o.at.1, i64 36
  store i32 %57, ptr %78
  %79 = getelementptr i8, ptr %o.at.1, i64 40
  store i32 %59, ptr %79
  %80 = getelementptr i8, ptr %o.at.1, i64 44
  store i32 %61, ptr %80
  %81 = getelementptr i8, ptr %o.at.1, i64 48
  store i32 %63, ptr %81
  %82 = getelementptr i8, ptr %o.at.1, i64 52
  store i32 %65, ptr %82
  %83 = getelementptr i8, ptr %o.at.1, i64 56
  store i32 %67, ptr %83
  %84 = getelementptr i8, ptr %o.at.1, i64 60
  store i32 %69, ptr %84
  %85 = add nuw nsw i64 %strips, 16
  br label %head.strips

head.rest:
  %s.3 = phi i32 [ %s.1, %head.strips ]
  %j.3 = phi i64 [ %j.1, %head.strips ]
  br label %head

head.own:
  %j.4 = phi i64 [ %j.1, %head.strip ], [ %j.next.1, %latch.1 ]
  %s.4 = phi i32 [ %s.1, %head.strip ], [ %s.next.1, %latch.1 ]
  %own = phi i64 [ 0, %head.strip ], [ %89, %latch.1 ]
  %86 = icmp ne i64 %own, 16
  br i1 %86, label %body.1, label %head.stored

body.1:
  %87 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 %own
  %e.17 = load i32, ptr %87
  br label %latch.1

latch.1:
  %s.odd.1 = mul i32 %s.4, 31
  %s.next.1 = add i32 %s.odd.1, %e.17
  %88 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 %own
  store i32 %s.next.1, ptr %88
  %j.next.1 = add nsw i64 %j.4, 1
  %89 = add nuw nsw i64 %own, 1
  br label %head.own
}
