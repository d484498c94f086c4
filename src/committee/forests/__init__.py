"""Random forests and their relatives."""
