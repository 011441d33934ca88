"""A job of MPI: mpirun starts `steelyard member` once for each rank.

No message of the job passes through MPI. Needs mpirun (Debian: openmpi-bin), and is skipped without it.
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from same_bits import PROGRAM, EngineCase, require  # noqa: E402

TASKS = 3
# As root, on fewer cores than ranks, as on a machine for tests.
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")


class Mpi(EngineCase):
    def start(self, *more: str) -> subprocess.Popen:
        mpirun = [*MPIRUN, "-np", str(TASKS)]
        member = [PROGRAM, "member", "--run-dir", self.run_dir, "--meet", self.folder / "meet", *more]
        with (self.folder / "mpirun.log").open("ab") as log:
            job = subprocess.Popen([*mpirun, *member, self.job], env=self.environment, stdout=log,
                                   stderr=log)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        return job

    def said(self) -> str:
        return (self.folder / "mpirun.log").read_text(encoding="utf-8")

    def test_a_killed_worker_is_restarted(self) -> None:
        job = self.start("--set", "train.epochs=12")
        self.eventually(lambda: len(self.rounds()) >= 8, self.said)
        (worker,) = self.processes(" worker --scheduler")[:1]
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(job.wait(120), 0, self.said())
        self.assertIn("was killed by signal 9", self.said())
        self.assertEqual(self.rounds(), list(range(96)))

    def test_a_stopped_job_continues_with_the_same_command(self) -> None:
        # Slow workers, so that the job is not over when the signal arrives.
        slow = [it for name in ("one", "two", "three") for it in ("--set", f"worker.{name}.simulate_slowdown=20")]
        job = self.start(*slow)
        self.eventually(lambda: len(self.rounds()) >= 5, self.said)
        job.send_signal(signal.SIGTERM)
        self.assertNotEqual(job.wait(60), 0, "mpirun has a code of its own")
        self.eventually(lambda: not self.processes(), "all ranks end")
        self.assertEqual(self.result()["exit_code"], 75)
        self.assertLess(len(self.rounds()), 24)
        job = self.start(*slow)
        self.assertEqual(job.wait(120), 0, self.said())
        self.assertIn("resuming from", self.said())
        self.assert_same_bits()


if __name__ == "__main__":
    require("mpirun")
    unittest.main()
