"""Given members of any kind as one model: votes, means, medians and stacks."""
