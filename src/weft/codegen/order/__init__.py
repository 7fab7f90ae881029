"""Which threads of a work-group run in the lanes, along what and how many, and in which order groups run."""
