"""Parameters, docstrings, threads, random numbers and the compiler of kernels."""
