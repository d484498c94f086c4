"""Built-in and simulated data sets."""
