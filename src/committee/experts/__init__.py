"""Mixtures of experts: a gate says which expert answers for which row."""
