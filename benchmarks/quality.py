"""How good an answer is: measured on rows held out, so that no speed is bought with accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score

from benchmarks.harness import Quality
from benchmarks.tables import Split

Load = Callable[[], Split]


def of_classifier(load: Load) -> Quality:
    """Accuracy, the AUC of two classes, and the size of the tree."""

    def judge(model: Any) -> Mapping[str, float]:
        split = load()
        share = model.predict_proba(split.X_test)
        found = {"accuracy": float(np.mean(model.predict(split.X_test) == split.y_test))}
        if share.shape[1] == 2:
            found["AUC"] = float(roc_auc_score(split.y_test == model.classes_[1], share[:, 1]))
        return {**found, "leaves": int(model.get_n_leaves())}

    return judge


def of_regressor(load: Load) -> Quality:
    """R2, the mean absolute error, and the size of the tree."""

    def judge(model: Any) -> Mapping[str, float]:
        split = load()
        answer = model.predict(split.X_test)
        return {
            "R2": float(r2_score(split.y_test, answer)),
            "MAE": float(mean_absolute_error(split.y_test, answer)),
            "leaves": int(model.get_n_leaves()),
        }

    return judge
