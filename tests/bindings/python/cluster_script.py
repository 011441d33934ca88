"""The script of test_cluster_scripts.py. Its options choose what it does."""
import argparse
import pathlib
import time

import cluster_jobs
import torch


def score(model, x, y):
    scores = model(x)
    return torch.nn.functional.cross_entropy(scores, y), (scores.argmax(1) == y).sum()


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--raise-on', default='', help='workers that raise an exception in their sixth micro-batch')
    options.add_argument('--hold', action='store_true', help='train for a long time, and write a file `at-work`')
    options.add_argument('--run-dir')
    options.add_argument('--resume', action='store_true')
    options.add_argument('--epochs', type=int, default=3)
    options.add_argument('--samples', type=int, default=190)
    given = options.parse_args()
    torch.set_num_threads(1)
    case = cluster_jobs.Case(model=cluster_jobs.mlp, data=cluster_jobs.samples(given.samples),
                             optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
                             epochs=10**6 if given.hold else given.epochs,
                             schedule=None if given.hold else
                             lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5))
    model = case.first_model()
    job = case.join(model, test=cluster_jobs.samples(60, seed=8), score=score, resume=given.resume,
                    run_dir=given.run_dir, name='life', job={'train.checkpoint_minutes': 0})
    for number, (x, y) in enumerate(job):
        job.backward(cluster_jobs.mean_loss(model, x, y))
        if number == 0:
            print(f'first piece: epoch {job.epoch} round {job.round}', flush=True)
        if number >= 5 and job.worker in given.raise_on.split(','):
            raise ValueError('spoiled sample')
        if given.hold and number == 5:
            pathlib.Path('at-work').touch()
        if given.hold:
            time.sleep(0.002)
    right = int(score(model.eval(), *cluster_jobs.samples(60, seed=8).tensors)[1])
    print(f'the end: {job.outcome}, right {right}', flush=True)
    if job.main:
        torch.save(model.state_dict(), 'model.pt')


if __name__ == '__main__':
    main()
