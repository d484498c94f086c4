"""Bagging: members learned from resamples of the rows, and their mean or vote."""
