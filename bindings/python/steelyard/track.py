"""Logs runs to MLflow and Weights & Biases: parameters, the numbers of each round and evaluation, shares of
workers, the report page and the outcome.

    python -m steelyard.track mlflow runs/job-1               # a run that has ended, or what there is
    python -m steelyard.track wandb runs/job-1 --follow       # until the run ends

    job = steelyard.torch.join(...)
    steelyard.track.mlflow(job)                               # in a script: follows this job

A later call for the same run, also after the job was resumed, goes on in the tracker's run and logs nothing
twice. Both clients work without a network: MLflow with a database file, W&B with WANDB_MODE=offline.

The record of a run is on the scheduler's machine, so that is where these functions and commands work.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
from typing import Callable, Optional, Sequence, Union

from steelyard import _track_follow
from steelyard._errors import UNREACHABLE, Failure, refuse
from steelyard._job import BaseJob
from steelyard._track_mlflow import MlflowTracker
from steelyard._track_record import Record, Row
from steelyard._track_wandb import WandbTracker

__all__ = ['Record', 'Row', 'mlflow', 'wandb']

Run = Union[str, 'os.PathLike[str]', BaseJob]


def mlflow(
    run: Run,
    *,
    experiment: Optional[str] = None,
    uri: Optional[str] = None,
    name: Optional[str] = None,
    run_id: Optional[str] = None,
    follow: bool = False,
    every: int = 1,
) -> Optional[str]:
    """Logs a run to MLflow. Returns the id of MLflow's run.

    run         a run directory; or the job that this script has joined: then a process of its own logs it
                until it ends, one for all workers, and this returns None at once
    experiment  its name; otherwise MLFLOW_EXPERIMENT_ID or MLFLOW_EXPERIMENT_NAME, otherwise "steelyard"
    uri         where MLflow tracks; otherwise MLFLOW_TRACKING_URI
    name        of MLflow's run; otherwise that of the run directory
    run_id      a run of MLflow to log into; otherwise a new one
    follow      whether to wait until the run ends, and log its rounds meanwhile
    every       logs only the rounds whose number is a multiple of this, and all evaluations
    """
    words: dict[str, Union[None, str, int]] = {'kind': 'mlflow', 'experiment': experiment, 'uri': uri}
    return _logged(lambda: MlflowTracker(experiment, uri), run, words, name, run_id, follow, every)


def wandb(
    run: Run,
    *,
    project: Optional[str] = None,
    entity: Optional[str] = None,
    name: Optional[str] = None,
    run_id: Optional[str] = None,
    follow: bool = False,
    every: int = 1,
) -> Optional[str]:
    """Logs a run to Weights & Biases. Returns the id of the run there. run, name, follow and every are as for
    mlflow(); wandb's own variables, such as WANDB_MODE and WANDB_DIR, apply.

    project, entity  where; otherwise WANDB_PROJECT and WANDB_ENTITY
    run_id           a run to log into, which no other process logs to at the same time; otherwise a new one
    """
    words: dict[str, Union[None, str, int]] = {'kind': 'wandb', 'project': project, 'entity': entity}
    return _logged(lambda: WandbTracker(project, entity), run, words, name, run_id, follow, every)


def _logged(
    tracker: Callable[[], _track_follow.Tracker],
    run: Run,
    words: dict[str, Union[None, str, int]],
    name: Optional[str],
    run_id: Optional[str],
    follow: bool,
    every: int,
) -> Optional[str]:
    """`words`: the options of the command that does the same for a job of this script; with its `kind`."""
    if every < 1:
        raise refuse(f'every = {every}: give a whole number of at least 1')
    if isinstance(run, BaseJob):
        _start(run, {**words, 'name': name, 'run-id': run_id, 'every': every})
        return None
    Record(run)  # refuses a directory that is not a run
    return _track_follow.follow(
        tracker(), pathlib.Path(run), name=name, run_id=run_id, waits=follow, every=every
    )


def _start(job: BaseJob, words: dict[str, Union[None, str, int]]) -> None:
    """Starts the command that follows a job, in one of its workers. It outlives the script, since the job
    ends after it."""
    if not job.logs:
        return
    kind, directory = words.pop('kind'), job.run_directory
    if directory is None:
        print(
            f'steelyard: {kind} logs nothing: the run directory is on the machine of the scheduler: run '
            f'`python -m steelyard.track {kind} RUN --follow` there',
            file=sys.stderr,
        )
        return
    options = [word for key, it in words.items() if it is not None for word in (f'--{key}', str(it))]
    with open(pathlib.Path(directory, 'log', f'track-{kind}.log'), 'ab') as output:
        subprocess.Popen(
            [sys.executable, '-m', 'steelyard.track', str(kind), directory, '--follow', *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def main(words: Optional[Sequence[str]] = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog='python -m steelyard.track', description='Logs a run to MLflow or Weights & Biases.'
    )
    kinds = parser.add_subparsers(dest='kind', required=True)
    for kind, places in (('mlflow', ('experiment', 'uri')), ('wandb', ('project', 'entity'))):
        its = kinds.add_parser(kind)
        its.add_argument('run', help='the directory of a run, as in runs/job-1')
        its.add_argument('--follow', action='store_true', help='log until the run ends')
        its.add_argument('--every', type=int, default=1, metavar='N', help='log only each Nth round')
        its.add_argument('--name', help='of the run in the tracker (default: that of the directory)')
        its.add_argument('--run-id', help='a run of the tracker to log into (default: a new one)')
        for it in places:
            its.add_argument(f'--{it}', help="of the tracker (default: the tracker's own variables)")
    given = vars(parser.parse_args(words))
    kind = given.pop('kind')
    try:
        made = mlflow(**given) if kind == 'mlflow' else wandb(**given)
    except Failure as why:
        print(f'steelyard: {why}', file=sys.stderr)
        return why.code
    except KeyboardInterrupt:
        return 75
    except Exception as why:  # of the tracker's client
        print(
            f'steelyard: {kind}: {type(why).__name__}: {why}: correct that and call the command again: it '
            'goes on where it ended',
            file=sys.stderr,
        )
        return UNREACHABLE
    print(f'{kind} run: {made}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
