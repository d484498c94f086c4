"""Calibrated probabilities and prediction intervals."""
