"""Folds and hold-outs, and samples of rows drawn by weight."""
