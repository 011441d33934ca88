"""One job and one script under everything that starts jobs, as one table in the file of its argument.

The job of a built-in model with `reproducible = true` must have the bits of `steelyard train` under each of them, and the
PyTorch script must have the model of `steelyard run`: scripts have other shares in each run, and so other orders of
additions. An engine that is not installed is skipped, with the reason in the table. STEELYARD_PROGRAM is the program.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "slurm"), str(HERE / "mpi"), str(HERE / "torchrun")]
from daemons import Daemons, free_ports, missing  # noqa: E402
from mpi_test import MPIRUN  # noqa: E402
from same_bits import PROGRAM, SCRIPT, EngineCase, bits_of  # noqa: E402
from torchrun_test import OUTPUT, TORCHRUN  # noqa: E402

CLOSE_ENOUGH = 2e-6  # of the script's parameters
TASKS = 3


def run(case: Table, *command: object, **more: str) -> None:
    words = [str(it) for it in command]
    end = subprocess.run(words, env=case.environment | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=240, check=False)
    case.assertEqual(end.returncode, 0, end.stdout)


def demand(reason: str) -> None:
    if reason:
        raise unittest.SkipTest(reason)


def on_this_machine(case: Table, *target: object) -> None:
    command = ["train"] if target[0] == case.job else ["run", "-n", TASKS]
    run(case, PROGRAM, *command, "--run-dir", case.run_dir, "--quiet", *target)


def launch(case: Table, *target: object) -> None:
    """On three hosts, each reached through a command of its own."""
    hosts = '[defaults]\nthrough = ["env", "HOST={name}"]\nshared_files = true\n'
    for i in range(TASKS):
        first = f"scheduler = true\nport = {free_ports(1)[0]}\n" if i == 0 else ""
        hosts += f'[[host]]\nname = "h{i}"\naddress = "127.0.0.1"\n{first}servers = {int(i < 2)}\n[[host.worker]]\n'
    (case.folder / "hosts.toml").write_text(hosts, encoding="utf-8")
    run(case, PROGRAM, "launch", "--run-dir", case.run_dir, "--quiet", case.folder / "hosts.toml", *target)


def members(case: Table, launcher: tuple, target: tuple, meet: object = "", **more: str) -> None:
    run(case, *launcher, PROGRAM, "member", "--run-dir", case.run_dir, "--meet", meet or case.folder / "meet", *target,
        **more)


def slurm(case: Table, *target: object) -> None:
    lacks = missing()
    demand(lacks and f"no {lacks}")
    with Daemons() as daemons:
        members(case, ("srun", f"-N{TASKS}"), target, SLURM_CONF=daemons.environment["SLURM_CONF"])


def mpi(case: Table, *target: object) -> None:
    demand("" if shutil.which(MPIRUN[0]) else "no mpirun")
    members(case, (*MPIRUN, "-np", TASKS), target)


def torchrun(case: Table, *target: object) -> None:
    demand("" if shutil.which(TORCHRUN) else "no torchrun")
    members(case, (TORCHRUN, "--standalone", "--no_python", "--nproc_per_node", TASKS, *OUTPUT), target,
            f"127.0.0.1:{free_ports(1)[0]}")


def ray(case: Table, *target: object) -> None:
    try:
        import ray as engine
        import steelyard.ray
    except ImportError as why:
        raise unittest.SkipTest(f"no Ray: {why}") from why
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:  # Ray's sockets need a short path
        engine.init(num_cpus=TASKS, include_dashboard=False, _temp_dir=folder, log_to_driver=False)
        try:
            result = steelyard.ray.run(target[0], [{"CPU": 1}] * TASKS, arguments=[str(it) for it in target[1:]],
                                       run_dir=case.run_dir, servers=2, launch_options=["--quiet"])
        finally:
            engine.shutdown()
    case.assertIsNone(result.error)


def dask(case: Table, *target: object) -> None:
    try:
        from distributed import Client, LocalCluster
        import steelyard.dask
    except ImportError as why:
        raise unittest.SkipTest(f"no Dask: {why}") from why
    with LocalCluster(n_workers=TASKS, threads_per_worker=1, dashboard_address=None,
                      local_directory=str(case.folder / "dask")) as cluster, Client(cluster) as client:
        result = steelyard.dask.run(client, target[0], arguments=[str(it) for it in target[1:]], run_dir=case.run_dir,
                                    servers=2, launch_options=["--quiet"])
    case.assertIsNone(result.error)


ENGINES = {"train, run": on_this_machine, "launch": launch, "Slurm": slurm, "MPI": mpi, "torchrun": torchrun, "Ray": ray,
           "Dask": dask}


class Table(EngineCase):
    found: dict[str, list[str]] = {name: [] for name in ENGINES}  # the cells of each row

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.dict(os.environ, self.environment)  # of processes that a library starts
        patch.start()
        self.addCleanup(patch.stop)

    def processes(self, words: str = "steelyard") -> list[int]:
        """Without the processes of Ray and Dask."""
        return super().processes(words)

    def fill_column(self, target: tuple, result) -> None:
        """Runs `target` under all engines. result(): a text about the last run."""
        for name, engine in ENGINES.items():
            begin = time.monotonic()
            try:
                engine(self, *target)
                cell = f"{result(name)}, {time.monotonic() - begin:.1f} s"
            except unittest.SkipTest as why:
                cell = f"skipped: {why}: script/setup --engines installs it"
            self.found[name].append(cell)
            for it in ("run", "meet"):
                shutil.rmtree(self.folder / it, ignore_errors=True)

    def test_a_job_has_the_same_bits(self) -> None:
        expected: dict[str, str] = {}

        def result(name: str) -> str:
            bits = bits_of(self.run_dir)
            expected.update(expected or bits)
            self.assertEqual(set(bits), {"model.safetensors", "optimizer.safetensors"}, name)
            self.assertEqual(bits, expected, name)
            return "SHA-256 " + bits["model.safetensors"][:12]

        self.fill_column((self.job,), result)

    def test_a_script_has_the_same_model(self) -> None:
        expected: dict[str, numpy.ndarray] = {}

        def result(name: str) -> str:
            with numpy.load(self.model) as file:
                model = dict(file)
            self.model.unlink()
            expected.update(expected or model)
            self.assertEqual(set(model), set(expected), name)
            worst = max(float(abs(model[it] - expected[it]).max()) for it in expected)
            self.assertLess(worst, CLOSE_ENOUGH, name)
            return f"difference {worst:.1e}"

        self.fill_column((SCRIPT, self.model), result)


if __name__ == "__main__":
    table = pathlib.Path(sys.argv.pop(1))
    ended = unittest.main(exit=False).result
    rows = [("", "job", "script"), *((name, *cells) for name, cells in Table.found.items())]
    table.write_text("".join("   " + "  ".join(f"{it:<34}" for it in row).rstrip() + "\n" for row in rows), encoding="utf-8")
    print(table.read_text(encoding="utf-8"))
    sys.exit(not ended.wasSuccessful())
