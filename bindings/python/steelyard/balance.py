"""The balancer alone, for your own training loop.

    balancer = Balancer(workers=3)
    for step in range(steps):
        shares = balancer.plan(batch)          # number of samples for each worker in this round
        ...                                    # workers compute them and measure their times
        balancer.observe(seconds)

A balancer does no I/O and has no clock: the same calls in the same order give the same shares. With several
processes, one of them owns the balancer and sends the shares to the others; examples/python/balance_ddp.py
does so with PyTorch's DistributedDataParallel.

Measure seconds of computing only, without waiting for other workers and without the exchange of gradients.
With unequal shares, gradients must be weighted by share: the mean over a batch is the sum over all samples,
divided by their number.
"""

from __future__ import annotations

import ctypes
import json
import operator
from typing import Mapping, Optional, Sequence, Union

from steelyard._errors import refuse
from steelyard._library import check, check_pointer, library

Worker = Union[str, Mapping[str, object]]


class Balancer:
    """Divides batches among workers of unequal speed, from the measured times of earlier rounds.

    workers: the number of workers, or a list with one item for each: its name, or a dict of `name`, `kind`
    ("cpu" or "gpu") and `max_batch`, its largest share in samples.
    policy: "steelyard", or another that `steelyard help policy` lists; further keywords are its options.
    grain: shares are multiples of this number of samples. Only the last share is not if the batch is not.

    Raises Failure if an argument is invalid. A balancer must be used by one thread only.
    """

    def __init__(self, workers: Union[int, Sequence[Worker]], policy: str = 'steelyard', *, grain: int = 1,
                 **options: Union[str, int, float, bool]) -> None:
        listed = [{}] * workers if isinstance(workers, int) else [_worker(it) for it in workers]
        setup = {'workers': listed, 'policy': policy, 'grain': grain, 'options': options}
        self._count = len(listed)
        self._library = library()
        self._policy = check_pointer(self._library.steelyard_policy_new(json.dumps(setup).encode()))

    def plan(self, batch: int) -> list[int]:
        """Returns the shares of the next round in samples, one for each worker; their sum is `batch`.

        A share is 0 only if there are fewer samples (or grains) than workers.
        """
        if not 0 < operator.index(batch) < 1 << 63:
            raise refuse(f'a batch of {batch} cannot be divided: give at least 1 sample')
        shares = (ctypes.c_uint64 * self._count)()
        check(self._library.steelyard_policy_plan(self._policy, operator.index(batch), shares))
        return list(shares)

    def observe(self, seconds: Sequence[Optional[float]]) -> None:
        """Reports a round that used the last plan: seconds of computing for each worker; None if unknown.

        A plan may be used for several rounds; call observe() after each.
        """
        if len(seconds) != self._count:
            raise refuse(f'{len(seconds)} times for {self._count} workers: give one for each, or None')
        known = (ctypes.c_double * self._count)(*(-1 if it is None else it for it in seconds))
        check(self._library.steelyard_policy_observe(self._policy, known))

    def __del__(self) -> None:
        if hasattr(self, '_policy'):
            self._library.steelyard_policy_free(self._policy)


def _worker(known: Worker) -> Mapping[str, object]:
    return {'name': known} if isinstance(known, str) else known
