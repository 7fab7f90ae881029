"""What integers can be: intervals, ranges, wrapping."""
