"""What the figures were measured on, without names of hosts or people."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "committee", "numpy", "numba", "scikit-learn", "scikit-learn-intelex", "lightgbm", "xgboost", "catboost",
    "chimeraboost",
)  # fmt: skip


def describe_machine() -> dict[str, str]:
    """Facts by name, in the order in which they should be read."""
    return {
        "CPU": _cpu_model(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"
