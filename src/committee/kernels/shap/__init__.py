"""Kernels of SHAP values."""
