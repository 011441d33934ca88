"""The model of a job whose optimizer steps in the script: every worker has its own copy.

Servers average what workers push (include/steelyard/steelyard.h, optimizer = "worker"). The flat buffer
holds gradients of all parameters, frozen ones included, then the values of float buffers, and two
entries of this module:

    steelyard.used    one number a parameter: above 0 if any worker had a gradient for it in this round.
                      A parameter without gradient gets .grad = None, as in one process
    steelyard.sketch  random projections of the parameters of the worker in slot 0, and a last number
                      that is above 0 if it has pushed in this round: other workers compare their own

All copies take the same steps from the same gradients. On processors of one kind they stay equal, bit
for bit. Unlike processors round differently, so copies drift apart slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import torch

from steelyard._errors import refuse
from steelyard._torch_optimizer import Factors
from steelyard._torch_parameters import Entry, Layout, view_of

if TYPE_CHECKING:
    from steelyard._torch_staging import DeviceStager

COLUMNS = 256  # of a sketch; the estimate of a distance has a relative error of sqrt(2 / COLUMNS)
_ROWS_AT_ONCE = 4096


class OwnLayout(Layout):
    """`load()` restores the buffers of the last step, since pieces of a round change them."""

    def __init__(self, model: torch.nn.Module) -> None:
        factors = {id(it): Factors() for it in model.parameters() if it.is_floating_point()}
        if not factors:
            raise refuse('the model has no parameters of real numbers, so nothing would be trained')
        super().__init__(model, factors, frozen=True)
        self.requirements = []  # the script may freeze and unfreeze parameters between rounds
        self.used = torch.zeros(len(self.parameters))
        self.sketch = torch.zeros(COLUMNS + 1)
        self.model_buffers = list(self.buffers)
        for name, tensor in (('steelyard.used', self.used), ('steelyard.sketch', self.sketch)):
            entry = Entry([name], tensor, self.size)
            self.size = entry.end
            self.entries.append(entry)
            self.buffers.append(entry)
        self._kept: list[torch.Tensor] = []
        self.keep_buffers()

    def keep_buffers(self) -> None:
        """The present values of the buffers are those of the last step."""
        self._kept = [it.tensor.detach().clone() for it in self.model_buffers]

    def load(self, flat: torch.Tensor) -> None:
        with torch.no_grad():
            for entry, kept in zip(self.model_buffers, self._kept):
                entry.tensor.copy_(kept)
        self.used.zero_()

    def write_buffers(
        self, into: torch.Tensor, pulled: torch.Tensor, weight: float, stager: Optional[DeviceStager] = None
    ) -> None:
        with torch.no_grad():
            self._copy_buffers(into, stager)
            into[self.buffers[0].begin : self.size].mul_(weight)

    def note_gradients(self) -> None:
        """Notes which parameters have a gradient."""
        for index, entry in enumerate(self.parameters):
            if entry.tensor.grad is not None:
                self.used[index] = 1.0

    def load_parameters(self, flat: torch.Tensor) -> None:
        """Loads version 0: parameters and buffers."""
        super().load(flat)
        self.keep_buffers()

    def take_gradients(self, flat: torch.Tensor) -> None:
        """Loads a later version: mean gradients into .grad, and mean values into buffers."""
        at = {it.names[0]: view_of(flat, it) for it in self.buffers}
        used = at['steelyard.used'].tolist()
        pairs: list[tuple[Entry, torch.Tensor]] = []
        with torch.no_grad():
            for index, entry in enumerate(self.parameters):
                parameter = entry.tensor
                if not parameter.requires_grad or used[index] <= 0:
                    parameter.grad = None
                else:
                    parameter.grad = torch.empty_like(parameter)
                    pairs.append((entry, parameter.grad))
            pairs += [(entry, entry.tensor.detach()) for entry in self.model_buffers]
            self.copy_out(flat, [it for it in pairs if it[1].numel()])
        self.keep_buffers()


class Copies:
    """Compares this worker's parameters with those of the worker in slot 0, every `every` steps.
    `limit`: the largest relative distance that is accepted."""

    def __init__(self, layout: OwnLayout, every: int = 50, limit: float = 1e-5) -> None:
        self._layout, self._every, self._limit = layout, every, limit
        self._signs: list[torch.Tensor] = []
        self._own: Optional[torch.Tensor] = None  # the sketch before the current round

    def begin_round(self, version: int, slot: int) -> None:
        """Prepares what this worker pushes in the round that begins after `version` steps."""
        self._own = sketch_of(self._layout, self._signs) if version % self._every == 0 else None
        self._layout.sketch.zero_()
        if self._own is not None and slot == 0:
            self._layout.sketch[:COLUMNS] = self._own
            self._layout.sketch[COLUMNS] = 1.0

    def forget(self) -> None:
        """The parameters were replaced: does not compare in this round."""
        self._own = None

    def distance(self, flat: torch.Tensor) -> float:
        """The relative distance to the other copy at the begin of the round; 0 if it is not known.
        `flat`: the version that the round has made."""
        part = view_of(flat, self._layout.buffers[-1])
        if self._own is None or part[COLUMNS] <= 0:
            return 0.0
        other = part[:COLUMNS] / part[COLUMNS]
        size = float(other.norm())
        return float((self._own - other).norm()) / size if size > 0 else 0.0

    def too_far(self, distance: float) -> bool:
        return distance > self._limit


def sketch_of(layout: OwnLayout, signs: list[torch.Tensor]) -> torch.Tensor:
    """COLUMNS sums of the parameters with random signs, the same on every worker. For two models the
    expected squared distance of their sketches is that of their parameters. `signs`: filled on the
    first call."""
    if not signs:
        for index, entry in enumerate(layout.parameters):
            rows = -(-entry.tensor.numel() // COLUMNS)
            dice = torch.Generator().manual_seed(index)
            drawn = torch.randint(0, 2, (rows,), generator=dice, dtype=torch.int8)
            signs.append(2 * drawn - 1)
    total = torch.zeros(COLUMNS, dtype=torch.float64)
    for entry, its_signs in zip(layout.parameters, signs):
        values = entry.tensor.detach().reshape(-1)
        for first in range(0, len(its_signs), _ROWS_AT_ONCE):
            part = values[first * COLUMNS : (first + _ROWS_AT_ONCE) * COLUMNS].double()
            rows = -(-part.numel() // COLUMNS)
            part = torch.nn.functional.pad(part, (0, rows * COLUMNS - part.numel()))
            its = its_signs[first : first + rows].to(part.device, torch.float64)
            total += (its @ part.view(rows, COLUMNS)).cpu()
    return total.float()


