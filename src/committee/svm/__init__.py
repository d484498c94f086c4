"""Support vector machines: kernel functions, one solver, the estimators over it."""
