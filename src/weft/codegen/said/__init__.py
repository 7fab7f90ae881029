"""What users are told of the code that was made, as remarks and statistics."""
