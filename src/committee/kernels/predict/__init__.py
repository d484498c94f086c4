"""Kernels that take rows through trees."""
