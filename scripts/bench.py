"""`make bench`: whole processes, one uncounted run, then medians of five; ratios where there is something to compare."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.cdk_cli import cdk_command, cdk_process_environment
from scripts.local_cloud import process as local_cloud

ROOT = Path(__file__).resolve().parents[1]
NEURONKIT = str(Path(sys.executable).with_name("neuronkit"))
RUNS = 5
MANY_ULTRASERVERS = ROOT / "tests" / "data" / "scale" / "ultraservers-500032-chips.yaml"
LARGEST_STARTER = "trn2-pilot"
SLURM_STARTER = "trn1-slurm"
SLURM_NODES_MAX = 2_047
"""Of one PCS cluster beside its login node; the tests render 31,248 without a cluster."""
# getrusage counts in KiB on Linux and in bytes on macOS.
MAXRSS_PER_MIB = 1024 * 1024 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Measurement:
    what: str
    seconds: tuple[float, ...]
    target: str = ""
    peak_mib: float | None = None
    """The most memory that the process, or one that it started, held in any run."""

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.seconds)

    def text(self) -> str:
        spread = f"{min(self.seconds):.2f} to {max(self.seconds):.2f}"
        memory = f"  peak {self.peak_mib:.0f} MiB" if self.peak_mib is not None else ""
        return f"{self.what:<44} {self.median_seconds:7.2f} s  ({spread}){memory}  {self.target}"


@dataclass(frozen=True, slots=True)
class Subject:
    """A command to measure; `before` is not timed."""

    what: str
    command: Sequence[str]
    directory: Path
    target: str = ""
    environment: dict[str, str] | None = None
    before: Callable[[], None] | None = None

    def run_once(self) -> tuple[float, float]:
        """Seconds, and peak memory in MiB."""
        if self.before is not None:
            self.before()
        started = time.perf_counter()
        peak_mib = run(self.command, self.directory, self.environment)
        return time.perf_counter() - started, peak_mib


def main() -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        file = work / "bench.yaml"
        run([NEURONKIT, "init", "bench", "--from", LARGEST_STARTER, "-o", str(file)], work)
        side_by_side(Subject("neuronkit --help", [NEURONKIT, "--help"], work, "target 0.3 s"))
        scale(file, work)
        synthesis(file, work)
        deployment(file, work)
        slurm_scripts(work)
        slurm_launches(work)


def scale(file: Path, work: Path) -> None:
    """The largest starter against 500,032 chips: neither time nor memory may follow the number of nodes."""
    names = {file: f"starter {LARGEST_STARTER}", MANY_ULTRASERVERS: "500,032 chips"}
    rendered = {path: work / f"rendered-{path.stem}" for path in names}
    for path, directory in rendered.items():
        run([NEURONKIT, "render", str(path), "-o", str(directory)], work)
    for verb, target in (("check", "target 0.5 s"), ("plan", "target 0.5 s"), ("lint", "")):
        one, many = side_by_side(
            *(
                Subject(
                    f"neuronkit {verb}, {name}",
                    [NEURONKIT, verb, str(rendered[path] if verb == "lint" else path)],
                    work,
                    target,
                )
                for path, name in names.items()
            )
        )
        show_ratio(f"{verb} of 500,032 chips : starter", many, one, "target about 1")


def synthesis(file: Path, work: Path) -> None:
    assembly = work / "assembly"
    synth = [NEURONKIT, "synth", str(file), "-o", str(assembly)]
    ours, plain = side_by_side(
        Subject(
            "neuronkit synth, changed",
            synth,
            work,
            before=lambda: shutil.rmtree(assembly, ignore_errors=True),
        ),
        Subject(
            "plain cdk synth of the same app",
            [*cdk_command(), "synth", "--quiet", "-c", f"environment={file}", "-o", str(work / "plain")],
            ROOT,
            environment=cdk_process_environment(os.environ),
        ),
    )
    show_ratio("neuronkit synth : cdk synth", ours, plain, "target 0.50 or less")
    side_by_side(Subject("neuronkit synth, unchanged", synth, work, "target 0.5 s"))


def deployment(file: Path, work: Path) -> None:
    state_dir = work / "local-cloud"
    local_cloud.start(state_dir)
    environment = {**os.environ, "NEURONKIT_LOCAL_CLOUD_DIR": str(state_dir)}
    try:
        run([NEURONKIT, "--local", "bootstrap", str(file)], work, environment)
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            run([NEURONKIT, "--local", "deploy", str(file), "--yes"], work, environment)
            run([NEURONKIT, "--local", "destroy", str(file), "--yes"], work, environment)
            seconds.append(time.perf_counter() - started)
        show(Measurement("local deploy + destroy of trn2-pilot (of 3)", tuple(seconds), "target 30 s"))
    finally:
        local_cloud.stop(state_dir)


def slurm_scripts(work: Path) -> None:
    """As many nodes as PCS takes against 4: the script that is submitted is the same."""
    files = {nodes: slurm_file(work, nodes) for nodes in (4, SLURM_NODES_MAX)}
    few, many = side_by_side(
        *(
            Subject(
                f"neuronkit render, {nodes} Slurm nodes",
                [NEURONKIT, "render", str(file), "-o", str(work / f"slurm-{nodes}")],
                work,
            )
            for nodes, file in files.items()
        )
    )
    show_ratio(f"render of {SLURM_NODES_MAX} Slurm nodes : 4", many, few, "target about 1")
    sizes = [(work / f"slurm-{nodes}/jobs/smoke/job.sbatch").stat().st_size for nodes in files]
    print(f"  job.sbatch: {sizes[0]} bytes for 4 nodes, {sizes[1]} for {SLURM_NODES_MAX}", flush=True)


def slurm_launches(work: Path) -> None:
    """On 64 virtual nodes of a real Slurm behind the local cloud: a launch until Slurm has the job."""
    if shutil.which("slurmctld") is None:
        print("launch on 64 Slurm nodes: not measured, Slurm is not installed here", flush=True)
        return
    file, state_dir = slurm_file(work, 64), work / "slurm-cloud"
    local_cloud.start(state_dir)
    environment = {**os.environ, "NEURONKIT_LOCAL_CLOUD_DIR": str(state_dir)}
    try:
        for verb in ("bootstrap", "image build", "deploy"):
            yes = [] if verb == "bootstrap" else ["--yes"]
            run([NEURONKIT, "--local", *verb.split(), str(file), *yes], work, environment)
        seconds, own = [], []
        for _ in range(RUNS):
            started, before = time.perf_counter(), used_seconds()
            run([NEURONKIT, "--local", "launch", str(file), "smoke"], work, environment)
            seconds.append(time.perf_counter() - started)
            own.append(used_seconds() - before)
            for run_name in active_runs(file, work, environment):
                run(
                    [NEURONKIT, "--local", "status", str(file), "--cancel", run_name],
                    work,
                    environment,
                )
        show(Measurement("launch on 64 Slurm nodes, until submitted", tuple(seconds)))
        show(Measurement("  of it the command's own processor time", tuple(own), "target 1 s"))
        run([NEURONKIT, "--local", "destroy", str(file), "--yes"], work, environment)
    finally:
        local_cloud.stop(state_dir)


def slurm_file(work: Path, nodes: int) -> Path:
    file = work / f"slurm-{nodes}.yaml"
    run([NEURONKIT, "init", f"slurm-{nodes}", "--from", SLURM_STARTER, "-o", str(file)], work)
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"(?m)^(    nodes:) \d+", rf"\1 {nodes}", text), encoding="utf-8")
    return file


def active_runs(file: Path, work: Path, environment: dict[str, str]) -> list[str]:
    command = [NEURONKIT, "--local", "--json", "status", str(file)]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=True)
    ended = ("COMPLETED", "CANCELLED", "FAILED")
    return [one["run"] for one in json.loads(done.stdout)["runs"] if not one["state"].startswith(ended)]


def used_seconds() -> float:
    """Processor time of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def side_by_side(*subjects: Subject) -> list[Measurement]:
    """In turn (A B A B …), so that a machine that gets slower does so for all of them; shown, too."""
    runs: list[list[tuple[float, float]]] = [[] for _ in subjects]
    for _ in range(RUNS + 1):
        for subject, done in zip(subjects, runs, strict=True):
            done.append(subject.run_once())
    measurements = [
        Measurement(
            subject.what,
            tuple(seconds for seconds, _ in done[1:]),
            subject.target,
            max(peak_mib for _, peak_mib in done[1:]),
        )
        for subject, done in zip(subjects, runs, strict=True)
    ]
    for measurement in measurements:
        show(measurement)
    return measurements


def show_ratio(what: str, one: Measurement, other: Measurement, target: str) -> None:
    ratio = statistics.median(a / b for a, b in zip(one.seconds, other.seconds, strict=True))
    print(f"{f'  ratio {what}':<44} {ratio:7.2f}    {target}", flush=True)


def run(command: Sequence[str], directory: Path, environment: dict[str, str] | None = None) -> float:
    """Its peak memory in MiB."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=output, stderr=output)
        # Popen's own waiting forgets what the process used.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            said = output.read().decode(errors="replace")
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    return usage.ru_maxrss / MAXRSS_PER_MIB


def show(measurement: Measurement) -> None:
    print(measurement.text(), flush=True)


def machine() -> str:
    load = os.getloadavg()[0]
    return (
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"load {load:.1f}; medians of {RUNS} whole processes after one uncounted run"
    )


if __name__ == "__main__":
    main()
