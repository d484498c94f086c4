"""The whole family as one estimator: members of different kinds, judged on rows they did not see, and combined."""
