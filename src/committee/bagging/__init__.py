"""Bagging: members fitted on resamples of the rows, combined by mean or vote."""
