"""Packed forms of trees that predict."""
