"""Samples of rows drawn by weight."""
