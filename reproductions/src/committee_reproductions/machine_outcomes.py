"""Published and obtained: mixtures of experts (H) and exclusive or (I-5)."""

from __future__ import annotations

import math

import numpy as np

from committee_reproductions.local_experts import HALF_WIDTH, NOISE, local_experts, piecewise
from committee_reproductions.published import Claim, Outcome, Row, gather_curves, is_above, row, sum_up
from committee_reproductions.xor import xor_study

ROUNDING = 1e-8
"""A likelihood that falls by less, relative to 1, fell by rounding."""

NEAR_NOISE = 1.1
"""A root mean squared error of so many times the noise is near it."""


def experts(quick: bool = False, verbose: int = 0) -> Outcome:
    """H: one linear expert against several on a piecewise linear set."""
    found = local_experts(n_repeats=2 if quick else 20, n_rows=200 if quick else 300, verbose=verbose)
    rows = tuple(row(f"{n} expert{'s' if n > 1 else ''}, root mean squared error", found.error(n))
                 for n in found.n_experts)  # fmt: skip
    gain, best = found.gain(3), found.error(3)
    claims = (
        Claim("three experts fit better than one line", is_above(gain), f"one - three: {gain}"),
        Claim("three experts come near the noise", best.value < NEAR_NOISE * NOISE, f"{best}, noise {NOISE}"),
        Claim(
            "the likelihood never falls during EM",
            found.largest_fall < ROUNDING, f"largest fall {found.largest_fall:.1g} over all runs",
        ),
    )  # fmt: skip
    grid = np.linspace(-HALF_WIDTH, HALF_WIDTH, 241)
    curves = [("prediction", "truth", grid, piecewise(grid), 0.0)]
    for n, model in zip(found.n_experts, found.models, strict=True):
        curves.append(("prediction", f"{n} experts", grid, model.predict(grid[:, np.newaxis]), 0.0))
    return Outcome(rows, claims, gather_curves(curves), sum_up(rows, claims), found)


def exclusive_or(quick: bool = False, verbose: int = 0) -> Outcome:
    """I-5: the linear programs and the machines; exact, so quick or not is the same."""
    found = xor_study()
    rows = (
        Row("margin after (x, y, xy)", found.margin, published=2.0, digits=6),
        Row("weight of xy after the map", float(found.w[2]), published=1.0, digits=6),
        Row("margin of the kernel (<x, z> + 1)^2", found.kernel_margin, published=2.0 * math.sqrt(2.0), digits=6),
    )
    refused = "refused" if found.hard_margin_error else "fitted"
    claims = (
        Claim("no line separates it in the plane", not found.in_plane.is_separable,
              f"the linear program has no solution; a hard-margin machine: {refused}"),
        Claim("a plane does after (x, y, xy)", found.mapped.is_separable, f"w = {np.round(found.w, 9).tolist()}"),
        Claim("the kernel (<x, z> + 1)^2 gives the same function", found.largest_difference < ROUNDING,
              f"largest difference {found.largest_difference:.1g}"),
    )  # fmt: skip
    curves = gather_curves([("multipliers", "kernel machine", range(4), found.alpha, 0.0)])
    return Outcome(rows, claims, curves, found.verdict, found)
