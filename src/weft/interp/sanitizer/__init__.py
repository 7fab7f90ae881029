"""What a run does that has no defined meaning."""
