"""Linear models with an L2 penalty whose strength is chosen by cross-validation."""
