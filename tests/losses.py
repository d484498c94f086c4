"""Losses of (y, score) with their derivatives, as a user writes them."""

from __future__ import annotations

import math


def square(y: float, score: float) -> float:
    return 0.5 * (y - score) ** 2


def square_gradient(y: float, score: float) -> float:
    return score - y


def square_hessian(y: float, score: float) -> float:
    return 1.0


def poisson(y: float, score: float) -> float:
    return math.exp(score) - y * score


def poisson_gradient(y: float, score: float) -> float:
    return math.exp(score) - y


def poisson_hessian(y: float, score: float) -> float:
    return math.exp(score)
