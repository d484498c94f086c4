"""Built-in data sets, and simulations whose true function and noise are known."""

from committee.datasets._generators import (
    SimulatedData,
    Simulation,
    correlated_step,
    curve,
    friedman1,
    friedman2,
    friedman3,
    ringnorm,
    simulate_classification,
    simulate_regression,
    threenorm,
    twonorm,
    waveform,
)
from committee.datasets._samples import Dataset, dataset_names, load_dataset

__all__ = [
    "Dataset",
    "SimulatedData",
    "Simulation",
    "correlated_step",
    "curve",
    "dataset_names",
    "friedman1",
    "friedman2",
    "friedman3",
    "load_dataset",
    "ringnorm",
    "simulate_classification",
    "simulate_regression",
    "threenorm",
    "twonorm",
    "waveform",
]
