define void @k(ptr %z, ptr %out, i64 %t, i64 %n, i64 %m) "weft.kernel" "weft.arrays.apart" {
entry:
  %strip = alloca [16 x i32]
  %strip.1 = alloca [16 x i32]
  %0 = add i64 0, 1
  %1 = sub i64 %n, %0
  %2 = icmp sge i64 %0, %n
  %3 = sub i64 %1, 1
  %4 = add i64 %3, 1
  %5 = select i1 %2, i64 0, i64 %4
  %6 = add nuw i64 %5, 1
  %7 = sub i64 %6, 1
  %8 = and i64 %7, -16
  br label %head.strips

head:
  %j = phi i64 [ %j.2, %head.rest ], [ %j.next, %latch ]
  %s = phi i32 [ %s.2, %head.rest ], [ %s.next, %latch ]
  br label %body

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
  %again = icmp slt i64 %j.next, %n
  br i1 %again, label %head, label %done

done:
  %s.out = phi i32 [ %s.next, %latch ]
  %last = getelementptr i32, ptr %out, i64 %t
  store i32 %s.out, ptr %last
  ret void

head.strips:
  %strips = phi i64 [ 0, %entry ], [ %88, %head.stored ]
  %j.1 = phi i64 [ 0, %entry ], [ %j.next.1, %head.stored ]
  %s.1 = phi i32 [ 1, %entry ], [ %s.next.1, %head.stored ]
  %9 = icmp ult i64 %strips, %8
  br i1 %9, label %head.strip, label %head.rest

head.strip:
  %row.1 = mul nsw i64 %t, 48
  %place.1 = add nsw i64 %row.1, %j.1
  %at.1 = getelementptr i32, ptr %z, i64 %place.1
  %o.row.1 = mul nsw i64 %t, 48
  %o.place.1 = add nsw i64 %o.row.1, %j.1
  %o.behind.1 = add nsw i64 %o.place.1, 4
  %o.at.1 = getelementptr i32, ptr %out, i64 %o.behind.1
  %e.1 = load i32, ptr %at.1
  %10 = getelementptr i8, ptr %at.1, i64 4
  %e.2 = load i32, ptr %10
  %11 = getelementptr i8, ptr %at.1, i64 8
  %e.3 = load i32, ptr %11
  %12 = getelementptr i8, ptr %at.1, i64 12
  %e.4 = load i32, ptr %12
  %13 = getelementptr i8, ptr %at.1, i64 16
  %e.5 = load i32, ptr %13
  %14 = getelementptr i8, ptr %at.1, i64 20
  %e.6 = load i32, ptr %14
  %15 = getelementptr i8, ptr %at.1, i64 24
  %e.7 = load i32, ptr %15
  %16 = getelementptr i8, ptr %at.1, i64 28
  %e.8 = load i32, ptr %16
  %17 = getelementptr i8, ptr %at.1, i64 32
  %e.9 = load i32, ptr %17
  %18 = getelementptr i8, ptr %at.1, i64 36
  %e.10 = load i32, ptr %18
  %19 = getelementptr i8, ptr %at.1, i64 40
  %e.11 = load i32, ptr %19
  %20 = getelementptr i8, ptr %at.1, i64 44
  %e.12 = load i32, ptr %20
  %21 = getelementptr i8, ptr %at.1, i64 48
  %e.13 = load i32, ptr %21
  %22 = getelementptr i8, ptr %at.1, i64 52
  %e.14 = load i32, ptr %22
  %23 = getelementptr i8, ptr %at.1, i64 56
  %e.15 = load i32, ptr %23
  %24 = getelementptr i8, ptr %at.1, i64 60
  %e.16 = load i32, ptr %24
  %25 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 0
  store i32 %e.1, ptr %25
  %26 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 1
  store i32 %e.2, ptr %26
  %27 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 2
  store i32 %e.3, ptr %27
  %28 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 3
  store i32 %e.4, ptr %28
  %29 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 4
  store i32 %e.5, ptr %29
  %30 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 5
  store i32 %e.6, ptr %30
  %31 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 6
  store i32 %e.7, ptr %31
  %32 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 7
  store i32 %e.8, ptr %32
  %33 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 8
  store i32 %e.9, ptr %33
  %34 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 9
  store i32 %e.10, ptr %34
  %35 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 10
  store i32 %e.11, ptr %35
  %36 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 11
  store i32 %e.12, ptr %36
  %37 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 12
  store i32 %e.13, ptr %37
  %38 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 13
  store i32 %e.14, ptr %38
  %39 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 14
  store i32 %e.15, ptr %39
  %40 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 15
  store i32 %e.16, ptr %40
  br label %head.own

head.stored:
  %j.next.1 = phi i64 [ %j.next.2, %latch.1 ]
  %s.next.1 = phi i32 [ %s.next.2, %latch.1 ]
  %41 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 0
  %42 = load i32, ptr %41
  %43 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 1
  %44 = load i32, ptr %43
  %45 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 2
  %46 = load i32, ptr %45
  %47 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 3
  %48 = load i32, ptr %47
  %49 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 4
  %50 = load i32, ptr %49
  %51 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 5
  %52 = load i32, ptr %51
  %53 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 6
  %54 = load i32, ptr %53
  %55 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 7
  %56 = load i32, ptr %55
  %57 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 8
  %58 = load i32, ptr %57
  %59 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 9
  %60 = load i32, ptr %59
  %61 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 10
  %62 = load i32, ptr %61
  %63 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 11
  %64 = load i32, ptr %63
  %65 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 12
  %66 = load i32, ptr %65
  %67 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 13
  %68 = load i32, ptr %67
  %69 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 14
  %70 = load i32, ptr %69
  %71 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 15
  %72 = load i32, ptr %71
  store i32 %42, ptr %o.at.1
  %73 = getelementptr i8, ptr %o.at.1, i64 4
  store i32 %44, ptr %73
  %74 = getelementptr i8, ptr %o.at.1, i64 8
  store i32 %46, ptr %74
  %75 = getelementptr i8, ptr %o.at.1, i64 12
  store i32 %48, ptr %75
  %76 = getelementptr i8, ptr %o.at.1, i64 16
  store i32 %50, ptr %76
  %77 = getelementptr i8, ptr %o.at.1, i64 20
  store i32 %52, ptr %77
  %78 = getelementptr i8, ptr %o.at.1, i64 24
  store i32 %54, ptr %78
  %79 = getelementptr i8, ptr %o.at.1, i64 28
  store i32 %56, ptr %79
  %80 = getelementptr i8, ptr %o.at.1, i64 32
  store i32 %58, ptr %80
  %81 = getelementptr i8, ptr %o.at.1, i64 36
  store i32 %60, ptr %81
  %82 = getelementptr i8, ptr %o.at.1, i64 40
  store i32 %62, ptr %82
  %83 = getelementptr i8, ptr %o.at.1, i64 44
  store i32 %64, ptr %83
  %84 = getelementptr i8, ptr %o.at.1, i64 48
  store i32 %66, ptr %84
  %85 = getelementptr i8, ptr %o.at.1, i64 52
  store i32 %68, ptr %85
  %86 = getelementptr i8, ptr %o.at.1, i64 56
  store i32 %70, ptr %86
  %87 = getelementptr i8, ptr %o.at.1, i64 60
  store i32 %72, ptr %87
  %88 = add nuw nsw i64 %strips, 16
  br label %head.strips

head.rest:
  %s.2 = phi i32 [ %s.1, %head.strips ]
  %j.2 = phi i64 [ %j.1, %head.strips ]
  br label %head

head.own:
  %j.3 = phi i64 [ %j.1, %head.strip ], [ %j.next.2, %latch.1 ]
  %s.3 = phi i32 [ %s.1, %head.strip ], [ %s.next.2, %latch.1 ]
  %own = phi i64 [ 0, %head.strip ], [ %91, %latch.1 ]
  br label %body.1

body.1:
  %89 = getelementptr inbounds [16 x i32], ptr %strip.1, i64 0, i64 %own
  %e.17 = load i32, ptr %89
  br label %latch.1

latch.1:
  %s.odd.1 = mul i32 %s.3, 31
  %s.next.2 = add i32 %s.odd.1, %e.17
  %90 = getelementptr inbounds [16 x i32], ptr %strip, i64 0, i64 %own
  store i32 %s.next.2, ptr %90
  %j.next.2 = add nsw i64 %j.3, 1
  %91 = add nuw nsw i64 %own, 1
  %92 = icmp ne i64 %91, 16
  br i1 %92, label %head.own, label %head.stored
}
