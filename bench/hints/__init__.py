"""What following the hints of reports gains: ten kernels before and after, CPU time of one thread."""
