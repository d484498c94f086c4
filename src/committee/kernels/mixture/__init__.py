"""Kernels of mixtures of experts."""
