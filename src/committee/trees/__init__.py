"""Single trees: the estimators, pruning, export."""
