"""Common parts of tests of trainers: runs trainer_jobs.py alone, by workers, and without steelyard."""
import json

import cluster_case
import torch
import trainer_jobs
from cluster_case import LIBRARY, PROCESSES, PROGRAM, ClusterCase, _end
from trainer_jobs import Given

# Processes are forked from one that has imported these, which saves seconds for each.
PRELOADED = ['cluster_jobs', 'steelyard.torch', 'trainer_jobs', 'torch._dynamo']
cluster_case.DEADLINE = 240  # the first process waits for them


def preload(*modules):
    PROCESSES.set_forkserver_preload([*PRELOADED, *modules])


class TrainerCase(ClusterCase):
    def begin(self, cell, given, **environment):
        """Starts a process whose results go to a folder of this name."""
        its = {'STEELYARD_LIBRARY': LIBRARY, 'STEELYARD_PROGRAM': PROGRAM, 'HF_HUB_OFFLINE': '1', **environment}
        process = PROCESSES.Process(target=trainer_jobs.train, args=(given, its, str(self.folder / cell)))
        process.start()
        self.addCleanup(_end, process)
        return process

    def alone(self, cell, given):
        self.expect_exit(self.begin(cell, given))

    def two(self, cell, given, slow='1'):
        """Trains with two workers, of which the second may be slow, and the first of its processes killed."""
        self.folder, folder = self.folder / cell, self.folder
        self.folder.mkdir()
        self.run_directory = self.folder / 'run'
        self.cluster(2)
        self.folder = folder
        slowdowns = {'worker-0': '1', 'worker-1': slow}
        workers = {name: self.begin(cell, given, STEELYARD=self.endpoint, STEELYARD_NAME=name,
                                    STEELYARD_SIMULATE_SLOWDOWN=factor) for name, factor in slowdowns.items()}
        if given.kill_at >= 0:
            self.expect_exit(workers['worker-1'], -9)
            workers['worker-1'] = self.begin(cell, given, STEELYARD=self.endpoint, STEELYARD_NAME='worker-1')
        for process in workers.values():
            self.expect_exit(process)
        self.expect_end(self.launcher)

    def logs(self):
        files = [*self.folder.glob('*/*.log'), *self.folder.glob('*.log')]
        return '\n'.join(f'--- {it}\n{it.read_text(errors="replace")[-3000:]}' for it in files)

    # ---- results

    def weights(self, cell, worker='worker-0'):
        state = torch.load(self.folder / cell / f'weights-{worker}.pt')
        return torch.cat([it.double().flatten() for it in state.values() if it.is_floating_point()])

    def about(self, cell, worker='worker-0'):
        return json.loads((self.folder / cell / f'about-{worker}.json').read_text())

    def both(self, cell):
        return [self.about(cell, it) for it in ('worker-0', 'worker-1')]

    def assert_near(self, cell, expected, within=2e-6):
        """The weights of every worker in this folder equal those of `expected`."""
        found = sorted((self.folder / cell).glob('weights-*.pt'))
        self.assertTrue(found)
        plain = self.weights(expected)
        for path in found:
            its = self.weights(cell, path.stem[len('weights-'):])
            distance = float((its - plain).norm() / plain.norm())
            print(f'{self.id().split(".")[-1]} {path.parent.name} {path.stem}: {distance:.1e}')
            self.assertLessEqual(distance, within, path)

    def assert_one(self, cell):
        """Two workers have the same weights, and one of them writes logs."""
        sums = {float(self.weights(cell, it).sum()) for it in ('worker-0', 'worker-1')}
        self.assertEqual(len(sums), 1, self.logs())
        self.assertEqual(sorted(it['zero'] for it in self.both(cell)), [False, True])

    def check_cells(self, kind, within=2e-6):
        """Alone, two workers, and two of which one is slow, equal the trainer without steelyard."""
        self.alone('plain', Given(kind, plain=True))
        self.alone('alone', Given(kind))
        self.two('two', Given(kind))
        self.two('slow', Given(kind), slow='4')
        for cell in ('alone', 'two', 'slow'):
            self.assert_near(cell, 'plain', within)
        self.assert_one('two')
        self.assert_one('slow')

    def check_killed(self, kind, cell='killed'):
        """A worker that is killed is replaced, and gets the model, the optimizer and the place in the loop."""
        self.two(cell, Given(kind, kill_at=6))
        self.assert_one(cell)
