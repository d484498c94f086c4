"""Gradient tree boosting."""
