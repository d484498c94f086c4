"""Functions compiled by numba, on arrays and records of arrays."""
