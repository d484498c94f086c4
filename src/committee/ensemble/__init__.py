"""Base classes of ensembles: incremental and online fitting, out-of-bag errors, early stopping, warm starts."""
