"""Asks the GPU driver about the GPU on which a process runs. Without a GPU, a driver or a reader of it, answers
None."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Optional


def gpu_utilisation(device: int = 0) -> Optional[float]:
    """Returns the fraction of the last moments, 0 to 1, in which the GPU was busy, or None if it is unknown or if
    more than one process uses the GPU. `device` counts the GPUs that the process sees. Asks NVML through the package
    pynvml (nvidia-ml-py) if that can be imported, otherwise nvidia-smi. Never raises."""
    name = _name_of(device)
    if name is None:
        return None
    for reader in (_by_nvml, _by_nvidia_smi):
        try:
            return _part_of(*reader(name))
        except Exception:  # pylint: disable=broad-except
            continue  # no such reader, driver or GPU, or one that cannot tell, such as a MIG slice
    return None


def _name_of(device: int) -> Optional[str]:
    """Returns the driver's index or UUID of a GPU, given its number within the process."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return str(device) if device >= 0 else None
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return names[device] if 0 <= device < len(names) else None


def _by_nvml(name: str) -> "tuple[float, int]":
    import pynvml  # type: ignore
    nvml: Any = pynvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else nvml.nvmlDeviceGetHandleByUUID(name)
        return (float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
                len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)))
    finally:
        nvml.nvmlShutdown()


def _by_nvidia_smi(name: str) -> "tuple[float, int]":
    return float(_ask(name, "--query-gpu=utilization.gpu")), len(_ask(name, "--query-compute-apps=pid").split())


def _ask(name: str, what: str) -> str:
    return subprocess.run(["nvidia-smi", f"--id={name}", what, "--format=csv,noheader,nounits"], capture_output=True, text=True,
                          check=True, timeout=10).stdout.strip()


def _part_of(percent: float, processes: int) -> Optional[float]:
    """Returns the fraction unless several processes use the GPU. A container may not see its own process, so 0 counts
    as 1."""
    return percent / 100 if processes <= 1 and 0 <= percent <= 100 else None
