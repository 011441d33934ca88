"""The sum of a piece's gradients over its micro-batches.

It is not accumulated in .grad, which belongs to the script: zero_grad() changes nothing here. On CPUs
the sum is the task's flat buffer itself. With a CUDA device it stays on the devices, in float32, until
the last micro-batch; a piece of one micro-batch needs no memory for it.
"""

from __future__ import annotations

from typing import Optional

import torch

from steelyard._torch_parameters import Layout, copy_all, view_of
from steelyard._torch_staging import dense


class GradientSum:
    """`on_device`: whether the sum stays on the devices of the parameters."""

    def __init__(self, layout: Layout, on_device: bool) -> None:
        self._entries, self._on_device = layout.parameters, on_device
        self._places: list[Optional[torch.Tensor]] = [None] * len(self._entries)
        self.begun = [False] * len(self._entries)  # whether a place holds a part of the sum

    def begin_task(self, into: torch.Tensor) -> None:
        """`into`: the task's flat buffer."""
        if not self._on_device:
            self._places = [view_of(into, entry) for entry in self._entries]

    def begin_attempt(self) -> None:
        self.begun = [False] * len(self._entries)

    def free(self) -> None:
        """Frees memory on devices. The sum is lost."""
        self.begin_attempt()
        if self._on_device:
            self._places = [None] * len(self._entries)

    def add(self, indices: list[int]) -> None:
        """Adds .grad of these entries."""
        places: list[torch.Tensor] = []
        gradients: list[torch.Tensor] = []
        firsts: list[torch.Tensor] = []
        their: list[torch.Tensor] = []
        with torch.no_grad():
            for index in indices:
                gradient = self._entries[index].tensor.grad
                if gradient is None or not gradient.numel():
                    continue
                if not self.begun[index]:
                    self.begun[index] = True
                    firsts.append(self.place(index))
                    their.append(dense(gradient))
                elif gradient.is_sparse:
                    self.place(index).add_(gradient)
                else:
                    places.append(self.place(index))
                    gradients.append(gradient.detach())
            if firsts:
                copy_all(firsts, their)
            if places:
                torch._foreach_add_(places, gradients)

    def place(self, index: int) -> torch.Tensor:
        place = self._places[index]
        if place is None:
            tensor = self._entries[index].tensor
            place = torch.empty(tensor.shape, dtype=torch.float32, device=tensor.device)
            self._places[index] = place
        return place
