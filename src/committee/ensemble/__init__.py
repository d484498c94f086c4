"""What ensembles share: base classes, out-of-bag estimates, stopping, warm starts."""
