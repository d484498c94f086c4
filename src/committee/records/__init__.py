"""Immutable records: trees, ensembles, histories, result tables."""
