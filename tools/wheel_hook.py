"""Hatch's hook for platform wheels: adds the kernels in the directory COMMITTEE_KERNELS, else the wheel is pure."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {
    # The objects call nothing but libm and the C interface of Python, of any version: the oldest tag of pip's is true.
    "linux-x86_64": "manylinux_2_17_x86_64",
    "linux-aarch64": "manylinux_2_17_aarch64",
    "macosx-arm64": "macosx_11_0_arm64",
    "win-amd64": "win_amd64",
}


class KernelsHook(BuildHookInterface[Any]):
    """Adds compiled kernels to a wheel and names the platform they are for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        chosen = os.environ.get("COMMITTEE_KERNELS")
        if not chosen or version == "editable":
            return
        kernels = Path(self.root, chosen)
        if not any(kernels.glob("*/manifest.json")):
            raise FileNotFoundError(f"no compiled kernels in {kernels}: run tools/compile_kernels.py first")
        system, _, machine = sysconfig.get_platform().partition("-")
        platform = f"{system}-{machine.rpartition('-')[2]}"  # macosx-11.0-arm64
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[platform]}"  # for any Python: others compile as before
        build_data["force_include"][str(kernels)] = "committee/_compiled"
