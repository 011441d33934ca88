"""Trains on the nodes of a cluster with PBS: Dask asks its queue for four jobs, each a worker.

    python example.py train.py

For SGE, LSF and Slurm use SGECluster, LSFCluster or SLURMCluster; for processes on this machine LocalCluster:

    python example.py train.py --local
"""
import sys

import steelyard.dask
from distributed import Client, LocalCluster


def cluster(local):
    if local:
        return LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None)
    from dask_jobqueue import PBSCluster  # pip install dask-jobqueue

    workers = PBSCluster(cores=8, processes=1, memory='32GB', walltime='04:00:00')
    workers.scale(jobs=4)
    return workers


if __name__ == '__main__':
    with cluster('--local' in sys.argv) as workers, Client(workers) as client:
        result = steelyard.dask.run(client, sys.argv[1], workers=4)
        if result.error:
            raise result.error
        print(f'{result.metrics["rounds"]} rounds; the model is in {result.checkpoint}')
