"""A job of torchrun: it starts `steelyard member` instead of a Python script.

torchrun starts all ranks again after a failure; the job then continues. Needs torchrun (Debian: python3-torch), and is
skipped without it.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from same_bits import PROGRAM, EngineCase, require  # noqa: E402

TORCHRUN = os.environ.get("TORCHRUN", "torchrun")
TASKS = 3
# PyTorch 1.13 on Python 3.11 does not start with the usual value of these two options; there is no rank 9.
OUTPUT = ["-r", "9:1", "-t", "9:1"]


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


class Torchrun(EngineCase):
    def setUp(self) -> None:
        super().setUp()
        self.meet = f"127.0.0.1:{free_port()}"

    def start(self, *more: str) -> subprocess.Popen:
        torchrun = [TORCHRUN, "--standalone", "--no_python", "--nproc_per_node", str(TASKS), "--max_restarts", "2"]
        member = [PROGRAM, "member", "--run-dir", self.run_dir, "--meet", self.meet, *more]
        with (self.folder / "torchrun.log").open("ab") as log:
            job = subprocess.Popen([*torchrun, *OUTPUT, *member, self.job], env=self.environment,
                                   stdout=log, stderr=log)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        return job

    def said(self) -> str:
        return (self.folder / "torchrun.log").read_text(encoding="utf-8")

    def test_after_the_loss_of_a_rank_all_are_restarted_and_continue(self) -> None:
        job = self.start("--set", "train.epochs=40")
        self.eventually(lambda: len(self.rounds()) >= 8, self.said)
        (first,) = [it for it in self.processes(" member ") if rank_of(it) == 0]
        os.kill(first, signal.SIGKILL)
        self.assertEqual(job.wait(180), 0, self.said())
        self.assertIn("resuming from", self.said())
        self.assertEqual(sorted(set(self.rounds())), list(range(320)))
        self.assertEqual(self.result()["outcome"], "finished")


def rank_of(process: int) -> int:
    for it in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
        if it.startswith(b"RANK="):
            return int(it.removeprefix(b"RANK="))
    return -1


if __name__ == "__main__":
    require(TORCHRUN)
    unittest.main()
