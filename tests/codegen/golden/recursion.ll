define internal <4 x i32> @_ZGVdM4v_steps(<4 x i32> %n, <4 x i1> %mask) #4 {
guard:
  br label %entry

entry:
  %done = icmp slt <4 x i32> %n, splat (i32 1)
  %0 = xor <4 x i1> %done, splat (i1 true)
  %1 = select <4 x i1> %mask, <4 x i1> %0, <4 x i1> splat (i1 false)
  br label %again

again:
  %half1 = lshr <4 x i32> %n, splat (i32 1)
  %2 = bitcast <4 x i1> %1 to i4
  %3 = icmp ne i4 %2, 0
  br i1 %3, label %call, label %call.done

call:
  %4 = call <4 x i32> @_ZGVdM4v_steps(<4 x i32> %half1, <4 x i1> %1)
  br label %call.done

call.done:
  %5 = phi <4 x i32> [ %4, %call ], [ poison, %again ]
  %s = add <4 x i32> %5, splat (i32 1)
  %result = select <4 x i1> %1, <4 x i32> %s, <4 x i32> splat (i32 0)
  br label %exit

exit:
  br label %exit.1

exit.1:
  ret <4 x i32> %result
}
