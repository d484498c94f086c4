"""committee on a Dask cluster; needs the extra `committee[dask]`."""

from committee.dask.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
