"""Which threads there are, which run, and which wait."""
