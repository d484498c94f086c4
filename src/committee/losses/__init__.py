"""Losses: derivatives, starting scores, links."""
