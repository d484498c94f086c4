"""Voting, stacking and calibration of given estimators."""
