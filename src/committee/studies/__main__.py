"""`python -m committee.studies e13 f6 f2 c7 d8`: the experiments of the documents on built-in data, as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from committee.studies.bagging_simulation import BAYES_ERROR, reproduce_c7
from committee.studies.boosting_experiment import reproduce_e13
from committee.studies.folds import Mean, mean_over_folds
from committee.studies.margin_maximisation import reproduce_f2, reproduce_f6
from committee.studies.spam import BOOK, reproduce_d8

Line = tuple[object, ...]


def e13() -> Iterator[Line]:
    yield "set", "training error", "test error", "smallest", "after round", "rise", "fair rise", "verdict"
    for name, found in reproduce_e13(verbose=1).items():
        last = Mean(float(found.test_error[-1]), float(found.test_stderr[-1]))
        train, smallest = f"{found.train_error[-1]:.4f}", f"{found.test_error.min():.4f}"
        yield name, train, last, smallest, found.best_round, found.rise, found.fair_rise, found.short_verdict


def f6() -> Iterator[Line]:
    yield "set", "booster", "members", "smallest margin", "test error", "above AdaBoost"
    for name, found in reproduce_f6(verbose=1).items():
        for n_members, booster in zip(found.n_members, found.boosters, strict=True):
            numbers = found.smallest_margin(booster), found.test_error(booster), found.excess(booster)
            yield name, booster, f"{n_members:.0f}", *numbers


def f2() -> Iterator[Line]:
    yield "set", "rounds chosen", "theta chosen", "neither", "theta - rounds"
    for name, found in reproduce_f2(verbose=1).items():
        errors = (found.rounds_errors, found.theta_errors, found.plain_errors)
        yield name, *map(mean_over_folds, errors), found.difference


def c7() -> Iterator[Line]:
    yield "trees", "one tree", "bagged, vote", "bagged, mean", "gain of the mean", "vote - mean", "best rule"
    for name, found in reproduce_c7(verbose=1).items():
        errors = found.tree_error, found.vote_error, found.mean_error, found.gain, found.vote_excess
        yield name, *errors, BAYES_ERROR


def d8() -> Iterator[Line]:
    yield "model", "trees", "test error", "out-of-bag error", "test - out-of-bag", "above the forest", "in the book"
    found = reproduce_d8(verbose=1)
    for name in found.models:
        own = (found.oob_error(name), found.optimism(name)) if name in found.oob_errors else ("", "")
        n_trees = found.test_errors[name].shape[2]
        yield name, n_trees, found.test_error(name), *own, found.excess(name, "random forest"), BOOK[name]


TABLES = {"e13": e13, "f6": f6, "f2": f2, "c7": c7, "d8": d8}


def print_table(lines: Iterable[Line]) -> None:
    """A table in Markdown; the first line is its head."""
    for k, line in enumerate(lines):
        print(f"| {' | '.join(map(str, line))} |", flush=True)
        if k == 0:
            print("|---" * len(line) + "|")
    print()


def main(wanted: list[str]) -> None:
    unknown = set(wanted) - set(TABLES)
    if unknown:
        raise SystemExit(f"no study {', '.join(sorted(unknown))}; there are: {', '.join(TABLES)}")
    for name in wanted or TABLES:
        print_table(TABLES[name]())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit("interrupted") from None
