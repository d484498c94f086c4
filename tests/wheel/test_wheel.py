"""The wheel with compiled kernels, built and installed into an empty environment, compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIRST_FITS = Path(__file__).with_name("first_fits.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("NUMBA_BOUNDSCHECK")), reason="wheels hold kernels without bounds checks"),
]


def build_wheel(directory: Path, **environment: str) -> Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(ROOT)],
        env={**os.environ, **environment},
        check=True,
    )
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(wheel: Path, directory: Path) -> Path:
    """Install a wheel, without its dependencies, into a new environment; return the environment's interpreter."""
    venv.create(directory, with_pip=False, symlinks=os.name != "nt")
    interpreter = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(interpreter), "install", "--quiet", "--no-deps", str(wheel)],
        check=True,
    )
    return interpreter


def first_fits(interpreter: Path, home: Path, **environment: str) -> dict[str, Any]:
    """Fit every estimator in a new process with an empty home."""
    run = subprocess.run(
        [str(interpreter), str(FIRST_FITS)],
        env={
            **{name: value for name, value in os.environ.items() if name not in ("COMMITTEE_CACHE_DIR", "PYTHONPATH")},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "LOCALAPPDATA": str(home / "AppData"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return {**json.loads(run.stdout), "stderr": run.stderr}


def files_below(directory: Path) -> dict[str, int]:
    return {str(path.relative_to(directory)): path.stat().st_mtime_ns for path in directory.rglob("*")}


def test_the_first_fit_of_every_estimator_compiles_nothing(tmp_path):
    kernels = tmp_path / "kernels"
    subprocess.run([sys.executable, ROOT / "tools/compile_kernels.py", kernels], check=True, stdout=subprocess.DEVNULL)
    wheel = build_wheel(tmp_path / "dist", COMMITTEE_KERNELS=str(kernels))
    assert wheel.name.startswith("committee-")
    assert "-py3-none-" in wheel.name
    assert "-any" not in wheel.name
    home = tmp_path / "home"
    home.mkdir()
    interpreter = install(wheel, tmp_path / "environment")
    (package,) = (tmp_path / "environment").rglob("committee/__init__.py")
    for path in (*package.parent.rglob("*"), package.parent, package.parent.parent):
        path.chmod(path.stat().st_mode & ~0o222)  # read-only site-packages
    before = files_below(tmp_path / "environment")

    # its dependencies are those of this environment, where committee itself is a link that only `site` would follow
    shipped = first_fits(interpreter, home, PYTHONPATH=sysconfig.get_path("purelib"))

    assert Path(shipped["package"]) == package
    assert shipped["level"] is not None, shipped["refusal"]
    assert shipped["stderr"] == ""
    assert {name: fit["compiled"] for name, fit in shipped["fits"].items() if fit["compiled"]} == {}
    assert files_below(tmp_path / "environment") == before
    assert not any(path.suffix == ".kernel" for path in home.rglob("*"))
    own = first_fits(Path(sys.executable), home, **shared_cache())
    assert Path(own["package"]).is_relative_to(ROOT)
    assert own["level"] is None
    assert {name: fit["digest"] for name, fit in shipped["fits"].items()} == {
        name: fit["digest"] for name, fit in own["fits"].items()
    }


def shared_cache() -> dict[str, str]:
    """The settings of the caches and of the code that the tests themselves use."""
    names = ("COMMITTEE_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "PYTHONPATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def test_uninstalling_leaves_nothing_behind_and_the_pure_wheel_has_no_kernels(tmp_path):
    wheel = build_wheel(tmp_path / "dist")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any("_compiled" in name for name in zipfile.ZipFile(wheel).namelist())
    interpreter = install(wheel, tmp_path / "environment")
    tree = "import committee, numpy; committee.DecisionTreeRegressor(max_depth=1).fit(numpy.eye(3), numpy.arange(3))"
    subprocess.run(
        [str(interpreter), "-c", tree],
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
        check=True,
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(interpreter), "uninstall", "--quiet", "--yes", "committee"],
        check=True,
    )
    assert list((tmp_path / "environment").rglob("*committee*")) == []
