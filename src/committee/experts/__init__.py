"""Mixtures of experts: a gate weights the predictions of the experts for every row."""
