"""Metadata routing of bagged models."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metadata_routing import MetadataRouter

from committee import BaggingClassifier, BaggingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
groups = np.arange(60)


class _Listener(BaseEstimator):
    """Keeps what its fits are told."""

    seen: ClassVar[list[Any]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        self.classes_ = np.unique(y)
        _Listener.seen.append((X, sample_weight, groups))
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), np.int64)


class Classifier(ClassifierMixin, _Listener):
    """Of classes."""


class Regressor(RegressorMixin, _Listener):
    """Of numbers."""


@pytest.mark.parametrize(("bag", "learner"), [(BaggingClassifier, Classifier), (BaggingRegressor, Regressor)])
def test_a_learner_gets_what_it_asks_for(bag: Any, learner: Any) -> None:
    _Listener.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = learner().set_fit_request(sample_weight=False, groups=True)
        model = bag(asked, n_estimators=4, n_jobs=2, random_state=0).fit(X, y, groups=groups)
        assert isinstance(model.get_metadata_routing(), MetadataRouter)
        with pytest.raises(TypeError, match="unexpected argument"):
            model.fit(X, y, colours=groups)
    assert len(_Listener.seen) == 4
    for table, weight, told in _Listener.seen:
        assert weight is None
        assert len(table) == 60  # rows repeated as often as they were drawn
        np.testing.assert_array_equal(table, X[told])


def test_weights_reach_a_learner_that_does_not_reject_them() -> None:
    _Listener.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        asked: Any = Classifier().set_fit_request(sample_weight=True, groups=True)
        BaggingClassifier(asked, n_estimators=3, random_state=0).fit(X, y, groups=groups)
    for table, weight, told in _Listener.seen:
        assert weight.sum() == 60
        np.testing.assert_array_equal(table, X[told])


def test_without_routing_metadata_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"fit takes no \['groups'\].*enable_metadata_routing"):
        BaggingClassifier(Classifier()).fit(X, y, groups=groups)
