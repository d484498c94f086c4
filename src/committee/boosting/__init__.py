"""The AdaBoost family: a core for each algorithm, the base classes of its estimators, the weak learners."""
