"""The file of a checkpoint: what it belongs to, damage, disks that cannot be written, processes that are killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import committee
from committee import CheckpointError, checkpoint
from committee.base import journal
from committee.storage import UnstorableError
from committee.storage.checkpoint_file import FRAME, MAGIC
from tests.model_content import digest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(int)


class StoppedError(Exception):
    """Stops a fit."""


def model(**params: Any) -> Any:
    stop_at = params.pop("stop_at", 0)

    def stop(record: Any) -> None:
        if record.round == stop_at:
            raise StoppedError

    settings = {"n_estimators": 12, "max_leaf_nodes": 4, "random_state": 0, **params}
    return committee.GradientBoostingClassifier(**settings).set_params(callbacks=[stop] if stop_at else None)


def fit(**params: Any) -> Any:
    return model(**params).fit(X, Y)


def stopped(path: Path, stop_at: int = 8, **params: Any) -> Path:
    """A checkpoint of a fit that was stopped."""
    with pytest.raises(StoppedError), checkpoint(path, every_seconds=0):
        fit(stop_at=stop_at, **params)
    assert path.exists()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@pytest.fixture(autouse=True)
def unnamed_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fits here are stopped by a callback, which their continuation does not have."""
    monkeypatch.setattr(committee.ensemble.fit_identity, "WITHOUT_EFFECT", ("n_jobs", "random_state", "callbacks"))


# --- what a checkpoint belongs to -------------------------------------------------------------------------------------

OTHER: dict[str, tuple[Callable[[], Any], str]] = {
    "parameter": (lambda: fit(learning_rate=0.3), r"learning_rate \('auto' there, 0.3 here\)"),
    "number": (lambda: fit(n_estimators=13), r"n_estimators \(12 there, 13 here\)"),
    "X": (lambda: model().fit(X + 1e-9 * (X == X[7, 2]), Y), "differs in X "),
    "y": (lambda: model().fit(X, np.roll(Y, 1)), "differs in y "),
    "classes": (lambda: model().fit(X, Y + 1), "differs in y "),
    "weight": (lambda: model().fit(X, Y, np.where(np.arange(200) == 3, 2.0, 1.0)), "sample_weight"),
    "validation": (lambda: model().fit(X, Y, X_val=X, y_val=Y), "validation rows"),
    "scores": (lambda: model().fit(X, Y, init_score=np.full(200, 0.1)), "other arguments"),
    "seed": (lambda: fit(random_state=1), "the seed"),
    "estimator": (lambda: committee.AdaBoostClassifier().fit(X, Y), "the estimator .*GradientBoosting.*AdaBoost"),
}


@pytest.mark.parametrize("name", OTHER)
def test_another_fit_is_an_error_and_leaves_the_checkpoint(name: str, path: Path) -> None:
    other, text = OTHER[name]
    before = stopped(path).read_bytes()
    with pytest.raises(CheckpointError, match=f"does not belong to this fit(.|\n)*{text}"), checkpoint(path):
        other()
    assert path.read_bytes() == before
    with checkpoint(path):
        assert digest(fit()) == digest(fit())


def test_an_error_that_is_caught_in_the_block_is_raised_at_its_end(path: Path) -> None:
    stopped(path)
    with pytest.raises(CheckpointError, match="learning_rate"), checkpoint(path), suppress(ValueError):
        fit(learning_rate=0.3)
    assert path.exists()


def test_another_version_of_a_library_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(path)
    monkeypatch.setattr(committee, "__version__", "9.9")
    with pytest.raises(CheckpointError, match=r"committee 0.* \(here 9.9\)"), checkpoint(path):
        pass
    assert path.exists()


def test_results_that_differ_are_noticed(path: Path) -> None:
    """As with a user-defined loss of the same name."""

    def loss(power: float) -> Any:
        def value(y: Any, score: Any) -> Any:
            return (y - score) ** 2 / power

        def gradient(y: Any, score: Any) -> Any:
            return 2.0 * (score - y) / power

        def hessian(y: Any, score: Any) -> Any:
            return 2.0 / power + 0.0 * score

        return (value, gradient, hessian)

    def regression(power: float, n: int = 12) -> Any:
        return committee.GradientBoostingRegressor(loss=loss(power), n_estimators=n, random_state=0)

    with suppress(StoppedError), checkpoint(path, every_seconds=0):
        regression(1.0).fit(X, Y.astype(float))
        raise StoppedError
    with pytest.raises(CheckpointError, match="round 1 differs in train_loss"), checkpoint(path):
        regression(2.0).fit(X, Y.astype(float))


def test_threads_and_progress_may_differ(path: Path) -> None:
    stopped(path)
    with checkpoint(path):
        again = fit(n_jobs=2)
    assert digest(again.set_params(n_jobs=None)) == digest(fit())


def test_a_seed_that_was_drawn_is_kept(path: Path) -> None:
    stopped(path, random_state=None)
    shutil.copy(path, path.with_suffix(".copy"))
    with checkpoint(path):
        first = fit(random_state=None)
    with checkpoint(path.with_suffix(".copy")):
        assert digest(fit(random_state=None)) == digest(first)
    assert fit(random_state=None)._seed != first._seed


def test_several_fits_in_a_block(path: Path) -> None:
    def both(stop_at: int = 0) -> list[Any]:
        forest = committee.RandomForestClassifier(5, random_state=0).fit(X, Y)
        return [digest(forest), digest(fit(stop_at=stop_at).set_params(callbacks=None))]

    with pytest.raises(StoppedError), checkpoint(path, every_seconds=0):
        both(stop_at=5)
    with checkpoint(path):
        assert both() == both()


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_is_kept_after_ctrl_c_and_has_the_last_round(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(record: Any) -> None:
        if record.round == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), checkpoint(path):  # written at the end of the block only
        model().set_params(callbacks=[interrupt]).fit(X, Y)
    made: list[Any] = []
    original = journal.Journal.record
    monkeypatch.setattr(journal.Journal, "record", lambda *call: made.append(call) or original(*call))
    with checkpoint(path):
        again = fit()
    assert digest(again) == digest(fit())
    assert len(made) == 2 * 3  # a tree and a record for each of the last three rounds


def test_a_short_fit_writes_nothing(path: Path) -> None:
    with checkpoint(path):
        fit()
        assert not path.exists()


def test_an_invalid_parameter_leaves_no_file(path: Path) -> None:
    with pytest.raises(ValueError, match="max_leaf_nodes"), checkpoint(path, every_seconds=0):
        fit(max_leaf_nodes=-1)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"committee checkpoint 2\n", bytes(100)])
def test_a_foreign_file_is_an_error_and_is_not_touched(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a checkpoint"), checkpoint(path):
        fit()
    assert path.read_bytes() == content


def test_a_model_file_is_no_checkpoint(path: Path) -> None:
    committee.save_model(fit(), path)
    with pytest.raises(CheckpointError, match="not a checkpoint"), checkpoint(path):
        pass


def test_a_changed_byte_is_an_error(path: Path) -> None:
    whole = stopped(path, 3).read_bytes()
    for place in np.linspace(0, len(whole) - 1, 60).astype(int).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged|not a checkpoint"), checkpoint(path):
            fit()


def part_ends(whole: bytes) -> list[int]:
    """Where the parts of a checkpoint end."""
    ends = [len(MAGIC)]
    while ends[-1] < len(whole):
        length, _ = FRAME.unpack(whole[ends[-1] : ends[-1] + FRAME.size])
        ends.append(ends[-1] + FRAME.size + length)
    return ends


def test_a_file_that_was_cut_is_an_error_and_one_with_fewer_parts_is_continued(path: Path) -> None:
    whole, expected = stopped(path, 3).read_bytes(), digest(fit())
    ends = part_ends(whole)
    assert len(ends) > 5
    for end in (*range(len(MAGIC)), *ends):  # killed while it was created, or between parts
        path.write_bytes(whole[:end])
        with checkpoint(path):
            assert digest(fit()) == expected
    for end in ends[:-1]:
        path.write_bytes(whole[: end + FRAME.size + 10])
        with pytest.raises(CheckpointError, match="damaged"), checkpoint(path):
            fit()


def test_an_unfinished_part_is_dropped(path: Path) -> None:
    with stopped(path).open("ab") as file:
        file.write(bytes(12) + b"half a part")
    with checkpoint(path, every_seconds=0):
        assert digest(fit()) == digest(fit())


def test_a_full_disk_is_warned_of_once_and_the_fit_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_calls, sync = [0], os.fsync

    def fail(number: int) -> None:
        n_calls[0] += 1
        if 7 <= n_calls[0] <= 12:  # in the middle of a part
            raise OSError(28, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.warns(UserWarning, match=r"run.ckpt' cannot be written: No space left.*goes on") as caught,
        pytest.raises(StoppedError),
        checkpoint(path, every_seconds=0),
    ):
        fit(stop_at=9)
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)
    with checkpoint(path):
        assert digest(fit()) == digest(fit())


def test_a_folder_that_cannot_be_written_is_warned_of_once() -> None:
    with pytest.warns(UserWarning, match="cannot be written") as caught, checkpoint("/proc/run.ckpt", every_seconds=0):
        again = fit()
    assert len(caught) == 1
    assert digest(again) == digest(fit())


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="folder"), checkpoint(tmp_path / "nowhere" / "run.ckpt"):
        pass
    with pytest.raises(IsADirectoryError), checkpoint(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix", reason="no locks")
def test_two_runs_cannot_use_one_file(path: Path) -> None:
    stopped(path)

    def second() -> None:
        with journal.suspended(), pytest.raises(CheckpointError, match="in use"), checkpoint(path):
            pass

    with checkpoint(path):
        child = multiprocessing.get_context("fork").Process(target=second)
        child.start()
        child.join()
        assert child.exitcode == 0
        again = fit()
    assert digest(again) == digest(fit())


def test_members_that_cannot_be_stored_are_an_error_at_once(path: Path) -> None:
    bagging = committee.BaggingClassifier(KNeighborsClassifier())
    with pytest.raises(UnstorableError, match=r"checkpoint.*KNeighborsClassifier"), checkpoint(path):
        bagging.fit(X, Y)
    assert not hasattr(bagging, "members_")


@pytest.mark.parametrize("value", [-1.0, "1", None, float("nan")])
def test_every_seconds_is_checked(value: Any, path: Path) -> None:
    with pytest.raises(ValueError, match="every_seconds"), checkpoint(path, every_seconds=value):
        pass


def test_blocks_are_not_nested(path: Path) -> None:
    with pytest.raises(ValueError, match="nested"), checkpoint(path), checkpoint(path):
        pass


def test_fits_in_forked_processes_are_not_kept(path: Path) -> None:
    with checkpoint(path, every_seconds=0):
        expected = digest(fit())
        before = path.read_bytes()
        child = multiprocessing.get_context("fork").Process(target=fit)
        child.start()
        child.join()
        assert child.exitcode == 0
        assert path.read_bytes() == before
    assert expected == digest(fit())


# --- killed processes -------------------------------------------------------------------------------------------------

FAMILIES: dict[str, Callable[[], Any]] = {
    "boosting": lambda: fit(n_estimators=60, early_stopping=True),
    "folds": lambda: fit(n_estimators=20, early_stopping="cv", cv=3, refit=False),
    "forest": lambda: committee.RandomForestClassifier(60, random_state=0).fit(X, Y),
    "bagging": lambda: committee.BaggingClassifier(n_estimators=40, random_state=0).fit(X, Y),
    "adaboost": lambda: committee.AdaBoostClassifier(n_estimators=60, random_state=0).fit(X, Y),
}


def run_in_checkpoint(name: str, path: Path, out: Path) -> None:
    with checkpoint(path, every_seconds=0):
        out.write_text(digest(FAMILIES[name]()))


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_killed_process_continues(name: str, tmp_path: Path) -> None:
    """Six kills at random moments; then the process runs to its end."""
    moments = random.Random(0)
    expected, path, out = digest(FAMILIES[name]()), tmp_path / "run.ckpt", tmp_path / "digest"
    n_killed = 0
    for _ in range(100):
        child = multiprocessing.get_context("fork").Process(target=run_in_checkpoint, args=(name, path, out))
        child.start()
        child.join(moments.uniform(0.0, 0.3) if n_killed < 6 else None)
        if child.exitcode is None:
            os.kill(child.pid or 0, signal.SIGKILL)
            child.join()
            n_killed += 1
        else:
            assert child.exitcode == 0
            assert out.read_text() == expected
            assert not path.exists()
            if n_killed == 6:
                return
            out.unlink()
    raise AssertionError(f"{name} was killed {n_killed} times only")
