"""Evaluates a model on test samples with the function `score` of the script."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterable, Optional

import torch

from steelyard._pieces import weight_of
from steelyard._torch_data import arguments_of

Score = Callable[..., Any]


@dataclasses.dataclass
class Evaluation:
    """Sums over the samples. `right`: correct answers; None if `score` does not count them."""

    loss: float = 0.0
    weight: float = 0.0
    right: Optional[int] = None


def evaluated(
    model: torch.nn.Module,
    score: Score,
    batches: Iterable[tuple[int, Any]],
    wanted: Callable[[], bool],
) -> Optional[Evaluation]:
    """Evaluates batches with their numbers of samples, in evaluation mode, without gradients. Returns None if
    the result is not `wanted` any more."""
    total = Evaluation()
    training = [it for it in model.modules() if it.training]
    model.eval()
    try:
        with torch.no_grad():
            for count, batch in batches:
                mean, right, its = _scored(score(model, *arguments_of(batch)))
                weight = weight_of(its, count)
                total.loss += float(mean) * weight
                total.weight += weight
                if right is not None:
                    total.right = (total.right or 0) + int(right)
                if not wanted():
                    return None
    finally:
        for module in training:
            module.training = True
    return total


def _scored(result: Any) -> tuple[Any, Any, Any]:
    """Mean loss, number of correct answers and weight, as `score` returns them: the last one or two may
    be missing, and are None then."""
    given = result if isinstance(result, tuple) else (result,)
    loss, right, weight = (*given, None, None)[:3]
    return loss, right, weight
