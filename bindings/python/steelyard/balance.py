"""The balancer alone, for your own training loop.

    balancer = Balancer(workers=3)
    for step in range(steps):
        shares = balancer.plan(batch)          # number of samples for each worker in this round
        ...                                    # workers compute them and measure their times
        balancer.observe_round(seconds)

A balancer does no I/O and has no clock: the same calls in the same order give the same shares. With several
processes, one of them owns the balancer and sends the shares to the others; examples/python/balance_ddp.py
does so with PyTorch's DistributedDataParallel.

Measure seconds of computing only, without waiting for other workers and without the exchange of gradients.
With unequal shares, gradients must be weighted by share: the mean over a batch is the sum over all samples,
divided by their number.

If workers come and go, or report at different times, report each of them alone:

    balancer.observe(worker, samples, seconds, cpu=0.8, memory=12000)
    number = balancer.join({'name': 'spare'})
    balancer.leave(0)
"""

from __future__ import annotations

import ctypes
import json
import operator
from typing import Mapping, Optional, Sequence, Union

from steelyard._errors import Failure, refuse
from steelyard._library import check, check_pointer, error_text, library

Worker = Union[str, Mapping[str, object]]


class Balancer:
    """Divides batches among workers of unequal speed, from the measured times of earlier rounds.

    workers  the number of workers, or a list with one item for each: its name, or a dict of `name`, `kind`
             ("cpu" or "gpu"), `max_batch`, its largest share in samples, and `may_rest`: whether it may get a
             share of 0 where rounds are faster without it (default: no, since an all-reduce needs every worker)
    policy   "steelyard", or another that `steelyard help policy` lists; further keywords are its options
    grain    shares are multiples of this number of samples. Only the last share is not if the batch is not

    Workers have numbers: 0, 1, ... in the order of the list, then of joining; `workers` lists those present.

    Raises Failure if an argument is invalid. A balancer must be used by one thread only.
    """

    def __init__(self, workers: Union[int, Sequence[Worker]], policy: str = 'steelyard', *, grain: int = 1,
                 **options: Union[str, int, float, bool]) -> None:
        listed = [{}] * workers if isinstance(workers, int) else [_worker(it) for it in workers]
        setup = {'workers': listed, 'policy': policy, 'grain': grain, 'options': options}
        self._library = library()
        self._policy = check_pointer(self._library.steelyard_policy_new(json.dumps(setup).encode()))
        self._workers = list(range(len(listed)))
        self._planned = len(listed)  # workers of the last plan

    @property
    def workers(self) -> list[int]:
        """The numbers of the workers that the next plan has a share for, in its order."""
        return list(self._workers)

    def plan(self, batch: int) -> list[int]:
        """Returns the shares of the next round in samples, one for each of `workers`; their sum is `batch`.

        A share is 0 only if there are fewer samples (or grains) than workers, or if the worker may rest.
        """
        if not 0 < operator.index(batch) < 1 << 63:
            raise refuse(f'a batch of {batch} cannot be divided: give at least 1 sample')
        shares = (ctypes.c_uint64 * len(self._workers))()
        check(self._library.steelyard_policy_plan(self._policy, operator.index(batch), shares))
        self._planned = len(self._workers)
        return list(shares)

    def observe(self, worker: int, samples: int, seconds: float, *, cpu: Optional[float] = None,
                memory: Optional[float] = None) -> None:
        """Reports that a worker computed `samples` samples in `seconds`, in the round of the last plan.

        cpu, memory: the state of its machine now: the share of the processor that other programs leave, from
        0 to 1, and the free memory in MB. The next plan uses them: lb-bsp's NARX predicts from them.
        """
        if isinstance(worker, Sequence):
            raise refuse('observe() takes a worker, its samples and its seconds: give the times of a whole '
                         'round to observe_round()')
        check(self._library.steelyard_policy_sample(
            self._policy, operator.index(worker), operator.index(samples), seconds,
            -1 if cpu is None else cpu, -1 if memory is None else memory))

    def observe_round(self, seconds: Sequence[Optional[float]]) -> None:
        """Reports a round that used the last plan: seconds of computing for each share; None if unknown.

        A plan may be used for several rounds; call observe_round() after each.
        """
        if len(seconds) != self._planned:
            raise refuse(f'{len(seconds)} times for {self._planned} workers: give one for each, or None')
        known = (ctypes.c_double * self._planned)(*(-1 if it is None else it for it in seconds))
        check(self._library.steelyard_policy_observe(self._policy, known))

    def join(self, worker: Worker = '') -> int:
        """Adds a worker to the following plans, described as in the list of workers; returns its number."""
        text = json.dumps(_worker(worker)).encode()
        number = int(self._library.steelyard_policy_join(self._policy, text))
        if number < 0:
            raise Failure(error_text())
        self._workers.append(number)
        return number

    def leave(self, worker: int) -> None:
        """Removes a worker from the following plans; one must remain."""
        check(self._library.steelyard_policy_leave(self._policy, operator.index(worker)))
        self._workers.remove(worker)

    def begin_epoch(self) -> None:
        """Announces that the next plan begins an epoch; needed by policies that decide once an epoch (dlb)."""
        check(self._library.steelyard_policy_epoch(self._policy))

    def save(self) -> str:
        """Returns all that the balancer has learned, with its workers, as text for a checkpoint."""
        text = self._library.steelyard_policy_save(self._policy)
        if text is None:
            raise Failure(error_text())
        return json.dumps({'workers': self._workers, 'planned': self._planned, 'state': text.decode()})

    def restore(self, text: str) -> None:
        """Continues from a saved text; the balancer must have the same policy, options and grain."""
        try:
            saved = json.loads(text)
            workers, planned, state = list(saved['workers']), int(saved['planned']), saved['state'].encode()
        except (ValueError, KeyError, TypeError, AttributeError) as why:
            raise refuse('this is no text of Balancer.save(): give it unchanged') from why
        check(self._library.steelyard_policy_restore(self._policy, state))
        self._workers, self._planned = workers, planned

    def __del__(self) -> None:
        if hasattr(self, '_policy'):
            self._library.steelyard_policy_free(self._policy)


def _worker(known: Worker) -> Mapping[str, object]:
    return {'name': known} if isinstance(known, str) else known
