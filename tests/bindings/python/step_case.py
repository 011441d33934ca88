"""Common parts of tests of jobs whose optimizer steps in the script: workers in threads, and the plain loop."""
import copy
import threading
from unittest import mock

import standin
import steelyard.torch
import torch
from standin_steps import StepCluster
from torch_case import TorchCase, mean_loss, samples


class StepCase(TorchCase):
    """The work of a worker is `work(job, model, optimizer)`, or `work(loader, model, optimizer)` with parallel()."""

    def rounds(self, job, model, optimizer, loss=mean_loss, after=lambda round: None):
        """The usual loop over rounds."""
        for round in job.rounds():
            for x, y in round:
                round.backward(loss(model, x, y))
            optimizer.step()
            after(round)

    def workers(self, cluster, models, optimizer_of, work, data=None, keep=lambda optimizer: {}, **options):
        """Runs a worker for each model, in threads. Returns the jobs."""
        data, jobs, threads, wrong = data or samples(), [], [], []
        for index, model in enumerate(models):
            optimizer = optimizer_of(model)
            job = self.join(cluster, model, optimizer, data, index, step='here', **options)
            job.keep(**keep(optimizer))
            jobs.append(job)
            threads.append(self.thread(wrong, work, job, model, optimizer))
        self.finish(threads, wrong)
        return jobs

    def loaders(self, cluster, models, optimizer_of, work, data=None, **options):
        """Runs a worker with parallel() and loader() for each model, in threads. Returns the loaders."""
        data, loaders, threads, wrong = data if data is not None else samples(), [], [], []
        for index, model in enumerate(models):
            shared, optimizer = steelyard.torch.parallel(model), optimizer_of(model)
            shared.keep(optimizer=optimizer)
            loader = self.loader(cluster, shared, data, index, **options)
            loaders.append(loader)
            threads.append(self.thread(wrong, work, loader, shared, optimizer))
        self.finish(threads, wrong)
        return loaders

    def loader(self, cluster, model, data, index=0, **options):
        options = {'epochs': 2, **({} if isinstance(data, torch.utils.data.DataLoader) else {'batch_size': 32}), **options}
        with mock.patch.object(steelyard._joining, 'clusters', lambda arguments: standin.given()), \
                mock.patch.object(steelyard._joining, 'worker_factory', cluster.worker(index)):
            return steelyard.torch.loader(data, model, **options)

    def thread(self, wrong, work, *arguments):
        def run():
            try:
                work(*arguments)
            except BaseException as error:
                wrong.append(error)
                getattr(arguments[0], 'job', arguments[0]).leave()
        return threading.Thread(target=run, daemon=True)

    def finish(self, threads, wrong):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        if wrong:
            raise wrong[0]
        self.assertFalse(any(it.is_alive() for it in threads), 'a worker is still running')

    def copies(self, model, count):
        """The first copy, and others whose parameters differ: the job replaces them."""
        models = [copy.deepcopy(model) for _ in range(count)]
        with torch.no_grad():
            for other in models[1:]:
                for parameter in other.parameters():
                    parameter.add_(1)
        return models


__all__ = ['StepCase', 'StepCluster']
