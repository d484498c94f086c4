"""Kernels of boosting: derivatives, leaf values, row weights."""
