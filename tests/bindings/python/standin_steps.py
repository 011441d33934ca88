"""A stand-in for clusters whose workers take the optimizer steps: servers only average (see steelyard.h).

    cluster = StepCluster(shares=lambda number: [1, 7], workers=2)

Each worker gets the versions in order: version 0 has the first parameters, a later one the mean of what was pushed
in a round. A worker in `late`, or one that has lost its state, reads that of another worker, between two rounds.
"""
import atexit
import pathlib
import shutil
import tempfile

import standin
from steelyard import _worker


class StepCluster(standin.Cluster):
    """`late`: indices of workers that join once `late_at` rounds are complete. `save_at`: steps after which a worker writes the
    state. `resume`: (file, steps) of the state from which all workers continue."""

    def __init__(self, *arguments, late=(), late_at=0, save_at=(), resume=None, **options):
        super().__init__(*arguments, **options)
        self.late, self.late_at, self.save_at, self.resume = set(late), late_at, set(save_at), resume
        self.folder = tempfile.mkdtemp(prefix='steelyard-test-')
        atexit.register(shutil.rmtree, self.folder)
        self.without_state = set(range(self.workers)) if resume else set(self.late)
        self.states, self.written, self.wanted = {}, set(), False  # by the number of steps
        if resume:
            self.states[resume[1]] = resume[0]

    def worker(self, index=0):
        return lambda description, weights: StepWorker(self, index, description, weights)

    def begin(self, description, weights):
        super().begin(description, weights)
        self.versions = {0: self.flat}
        if self.resume:
            self.pending, self.owed, self.number = [], 0, self.resume[1]
            if self.number < self.rounds:
                self.open_round()

    def open_round(self):
        absent = self.without_state | set(self.left)
        planned = self.shares
        self.shares = lambda number: [0 if at % self.workers in absent else it for at, it in enumerate(planned(number))]
        if not any(self.shares(self.number)):
            self.shares = planned
        super().open_round()
        self.shares = planned

    def step(self):
        self.versions[self.number + 1] = self.sum / (self.weight or 1)

    def mean(self, version, name):
        """The values of a tensor in a version."""
        at = [it['name'] for it in self.description['tensors']].index(name)
        return self.versions[version][slice(*self.cuts[at])]


class StepWorker(standin.Worker):
    steps = None  # of this copy of the model
    began = None  # the task that is no piece

    def next(self, seconds):
        cluster = self.cluster
        with cluster.lock:
            if not self.joined or self.index in cluster.left:
                return super().next(seconds)
            if self.piece is not None:
                self.piece.given_up += 1
                cluster.pending.append(self.piece)
                self.piece = None
            task = self.own_task() if cluster.number >= cluster.late_at or self.index not in cluster.late else None
            if task is None:
                cluster.lock.wait(seconds)
            return task or _worker.Task(kind=_worker.WAIT)

    def own_task(self):
        cluster = self.cluster
        if self.index in cluster.without_state:
            return self.read_state()
        if self.steps is None or self.steps < cluster.number:
            version = 0 if self.steps is None else self.steps + 1
            self.values = self.floats(cluster.versions[version])
            return self.begin_own(_worker.STEP, version, parameters=self.values)
        if (cluster.wanted or self.steps in cluster.save_at) and self.steps not in cluster.written:
            return self.write_state()
        if cluster.over():
            epoch, index = divmod(cluster.number, cluster.per_epoch)
            return _worker.Task(_worker.END, self.floats(cluster.versions[cluster.number]), main=self.index == 0,
                                epoch=epoch, position=index * cluster.batch)
        for piece in cluster.pending:
            absent = piece.worker in cluster.left or piece.worker in cluster.without_state
            if piece.worker == self.index or absent:
                cluster.pending.remove(piece)
                return self.give(piece)
        return None

    def begin_own(self, kind, version, **more):
        self.began = _worker.Task(kind=kind, version=version, **more)
        return self.began

    def write_state(self):
        path = pathlib.Path(self.cluster.folder, f'{self.steps}.state')
        self.cluster.written.add(self.steps)
        path.touch()
        return self.begin_own(_worker.WRITE_STATE, self.steps, path=str(path))

    def read_state(self):
        states = self.cluster.states
        if not states or max(states) < (self.steps or 0):
            self.cluster.wanted = True
            self.cluster.lock.notify_all()
            return None
        version = max(states)
        return self.begin_own(_worker.READ_STATE, version, path=states[version])

    def give(self, piece):
        if not piece.evaluate:
            assert piece.number == self.steps, 'a piece of another round than that of this copy'
        return super().give(piece)

    def job(self):
        return {**super().job(), 'slot': self.index}

    def done(self, loss, correct):
        began, self.began = self.began, None
        if began is None:
            return super().done(loss, correct)
        cluster = self.cluster
        with cluster.lock:
            self.steps = began.version if began.kind != _worker.WRITE_STATE else self.steps
            if began.kind == _worker.WRITE_STATE:
                cluster.states[began.version], cluster.wanted = began.path, False
            elif began.kind == _worker.READ_STATE:
                cluster.without_state.discard(self.index)
            cluster.lock.notify_all()

    def lose_state(self):
        with self.cluster.lock:
            self.cluster.without_state.add(self.index)
