"""What all engines are compared by: a job with reproducible sums has the same bits, whatever starts its processes.

A test of an engine is a subclass of EngineCase. It starts `self.job` in the engine, with the run directory `self.run_dir`,
and calls `self.assert_same_bits()`, which trains the same job with `steelyard train` and compares the checkpoints. After
each test no process of it may be left, and no file in the temporary directory. table_test.py compares all engines.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).with_name("script.py")
PROGRAM = os.environ.get("STEELYARD_PROGRAM") or shutil.which("steelyard") or "steelyard"

JOB = """[job]
name = "bits"
seed = 5
[model]
name = "lenet5"
[data]
name = "synthetic"
train = 2048
test = 256
height = 28
width = 28
[train]
batch = 256
epochs = 3
optimizer = "momentum"
lr = 0.05
[cluster]
servers = 2
policy = "lb-bsp"
reproducible = true
[[worker]]
name = "one"
[[worker]]
name = "two"
simulate_slowdown = 2
[[worker]]
name = "three"
"""
SKIPPED = 77  # the exit code of a test whose engine is not installed (engines/CMakeLists.txt)


def require(*programs: str) -> None:
    """Ends the test if a program is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            print(f"skipped: there is no {program}; script/setup --engines installs it")
            sys.exit(SKIPPED)


def bits_of(run_dir: pathlib.Path) -> dict[str, str]:
    """The hash of each file of the newest checkpoint that has values; its manifest also has times."""
    newest = max((run_dir / "checkpoints").iterdir(), key=lambda it: int(it.name))
    return {it.name: hashlib.sha256(it.read_bytes()).hexdigest() for it in newest.glob("*.safetensors")}


class EngineCase(unittest.TestCase):
    """A job, its directory, and the environment in which an engine starts it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="steelyard-engine-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.job = self.folder / "job.toml"
        self.job.write_text(JOB, encoding="utf-8")
        self.run_dir = self.folder / "run"
        self.model = self.folder / "model.npz"
        (self.folder / "tmp").mkdir()
        self.mark = f"STEELYARD_ENGINE_TEST={os.getpid()}-{self.id()}"
        name, value = self.mark.split("=", 1)
        self.environment = os.environ | {name: value, "TMPDIR": str(self.folder / "tmp")}
        self.environment.setdefault("STEELYARD_PYTHON", sys.executable)
        self.addCleanup(self.assert_nothing_left)

    def processes(self, words: str = "") -> list[int]:
        """The processes of this test that have these words in their command line, with any parent."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() not in (place / "environ").read_bytes().split(b"\0"):
                    continue
                line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if line and words in line:
                found.append(int(place.name))
        return found

    def eventually(self, holds, what, seconds: float = 60) -> None:
        """`what`: a text, or a function that returns what the engine has said."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                self.fail(what if isinstance(what, str) else what())
            time.sleep(0.02)

    def rounds(self) -> list[int]:
        """The training rounds in the record of the run."""
        file = self.run_dir / "rounds.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        return [it["round"] for it in records if it["purpose"] == "train"]

    def result(self) -> dict:
        return json.loads((self.run_dir / "result.json").read_text(encoding="utf-8"))

    def assert_same_bits(self) -> None:
        alone = self.folder / "alone"
        subprocess.run([PROGRAM, "train", self.job, "--run-dir", alone, "--quiet"], check=True, env=self.environment,
                       stdout=subprocess.DEVNULL)
        expected = bits_of(alone)
        self.assertEqual(set(expected), {"model.safetensors", "optimizer.safetensors"})
        self.assertEqual(bits_of(self.run_dir), expected)

    def assert_nothing_left(self) -> None:
        try:
            self.eventually(lambda: not self.processes(), "processes are left", 20)
        finally:
            for process in self.processes():
                os.kill(process, 9)
        left = [it.name for it in (self.folder / "tmp").iterdir() if it.name.startswith("steelyard")]
        self.assertEqual(left, [])
