"""Networks' weights as safetensors files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sgp.errors import StoreError
from sgp.files import whole_file


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str] | None = None) -> None:
    """Writes tensors of any device, and what is said about them, as safetensors."""
    with whole_file(path) as temporary:
        save_file({name: value.contiguous().cpu() for name, value in tensors.items()}, temporary, dict(about or {}))


class Network(nn.Module):
    """A network whose weights can be kept in a file."""

    def save(self, path: Path) -> None:
        """Writes the weights as safetensors."""
        write_tensors(path, self.state_dict())

    def read(self, path: Path) -> None:
        """Takes the weights that `save` wrote. Raises StoreError for a file that is none or of another shape."""
        try:
            self.load_state_dict(load_file(path))
        except (SafetensorError, RuntimeError, OSError) as error:
            raise StoreError(f"{path} holds no weights of this network; train the run again") from error

    def count_parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())
