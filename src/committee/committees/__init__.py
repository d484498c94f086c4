"""Committees: members of different kinds, weighted by their held-out predictions."""
