"""Compact forms of trees for prediction."""
