"""Choice of the device of models."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from sgp.errors import ConfigurationError

Device = Literal["cpu", "cuda"]
DeviceChoice = Literal["auto", "cpu", "cuda"]


def choose_device(choice: str) -> Device:
    """Return the device for the choice auto, cpu or cuda; auto selects the GPU if there is one."""
    if choice not in get_args(DeviceChoice):
        raise ConfigurationError(f"device is '{choice}'; expected one of {', '.join(get_args(DeviceChoice))}")
    if choice == "cpu" or (choice == "auto" and not _gpu()):
        return "cpu"
    if not _gpu():
        raise ConfigurationError(
            "the requested device is cuda and no CUDA GPU can be used here; use --device cpu or auto"
        )
    return "cuda"


def _gpu() -> bool:
    if not Path("/proc/driver/nvidia/version").exists() and not Path("/dev/nvidiactl").exists():
        return False  # avoids importing torch without a driver
    import torch

    return bool(torch.cuda.is_available())
