"""The balancer alone, for a training loop of your own.

    balancer = Balancer(workers=3)
    for step in range(steps):
        shares = balancer.plan(batch)          # how many samples each worker computes in this round
        ...                                    # they do, and tell how long that took
        balancer.observe(seconds)

Nothing here computes, waits or speaks to anybody: the same calls in the same order give the same shares. In a job of
several processes one of them has the balancer and tells the others their shares; examples/python/balance_ddp.py
does so with PyTorch's DistributedDataParallel.

What is measured decides how good the shares are: seconds of computing, without waiting for others and without the
exchange of gradients. Gradients of shares that are not equal must be weighted by them: the mean over a batch is the sum
over its samples, divided by their number, whoever computed them.
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
    """Divides batches among workers that are not equally fast, by what their rounds took.

    workers: how many there are; or a list of what is known of each: its name, or a dict of `name`, `kind` ("cpu" or
    "gpu") and `max_batch`, the most samples that it can take in a round.
    policy: "steelyard", or another that `steelyard help policy` lists; further keywords are the options listed there.
    grain: shares are whole numbers of so many samples, but for the last if the batch is not.

    A set-up that cannot be is refused with an error that names what is wrong. One thread uses a balancer.
    """

    def __init__(self, workers: Union[int, Sequence[Worker]], policy: str = 'steelyard', *, grain: int = 1,
                 **options: Union[str, int, float, bool]) -> None:
        listed = [{}] * workers if isinstance(workers, int) else [_worker(it) for it in workers]
        setup = {'workers': listed, 'policy': policy, 'grain': grain, 'options': options}
        self._count = len(listed)
        self._library = library()
        self._policy = check_pointer(self._library.steelyard_policy_new(json.dumps(setup).encode()))

    def plan(self, batch: int) -> list[int]:
        """Shares of the next round, one for each worker; their sum is `batch`.

        Nobody is left out while there are as many samples (or grains) as workers.
        """
        if not 0 < operator.index(batch) < 1 << 63:
            raise refuse(f'a batch of {batch} cannot be shared: give a number of samples from 1')
        shares = (ctypes.c_uint64 * self._count)()
        check(self._library.steelyard_policy_plan(self._policy, operator.index(batch), shares))
        return list(shares)

    def observe(self, seconds: Sequence[Optional[float]]) -> None:
        """What a round by the last plan took, one number for each worker; None where that is not known.

        A plan may be used for several rounds: each is observed.
        """
        if len(seconds) != self._count:
            raise refuse(f'{len(seconds)} times for {self._count} workers: give one for each, None if it is unknown')
        known = (ctypes.c_double * self._count)(*(-1 if it is None else it for it in seconds))
        check(self._library.steelyard_policy_observe(self._policy, known))

    def __del__(self) -> None:
        if hasattr(self, '_policy'):
            self._library.steelyard_policy_free(self._policy)


def _worker(known: Worker) -> Mapping[str, object]:
    return {'name': known} if isinstance(known, str) else known
