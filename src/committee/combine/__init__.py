"""Rules that combine predictions."""
