"""The region vectorizer: what is cleared away before it, its list of passes, and what became of a function."""
