"""`make demo`: the main job on the local cloud, by the same commands that a user types."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.aws.cloud import Cloud
from scripts.aws.s3 import read_bytes
from scripts.aws.session import open_cloud
from scripts.console import Console
from scripts.loading import load_plan
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import KitError
from stacks.domain.names import OUTPUT_BUCKET, metrics_key
from stacks.domain.quotas import needed_vcpus

ROOT = Path(__file__).resolve().parents[1]
DIRECTORY = ROOT / ".neuronkit" / "demo"
FILE = "demo.yaml"
STARTER = "trn2-pilot"
REAL_STARTER = "trn1-first-hour"
JOB = "smoke"
FIRST_RUN, SECOND_RUN = f"{JOB}-1", f"{JOB}-2"
RESUME_STEP = 20


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    arguments: tuple[str, ...]


STEPS = (
    Step(
        "write a starter file: 4 nodes with 64 Trainium2 chips, from a capacity block",
        ("init", "demo", "--from", STARTER, "-o", FILE),
    ),
    Step("check it", ("check", FILE)),
    Step("plan it: what it makes and what it costs", ("plan", FILE)),
    Step("bootstrap the local account for the CDK", ("--local", "bootstrap", FILE)),
    Step("deploy with the real CDK CLI", ("--local", "deploy", FILE, "--yes")),
    Step("launch the smoke job on 4 nodes and follow it", ("--local", "launch", FILE, JOB, "--follow")),
    Step("what runs now", ("--local", "status", FILE)),
    Step(
        f"run it again from the checkpoint of step {RESUME_STEP}",
        ("--local", "launch", FILE, JOB, "--resume", f"{FIRST_RUN}:{RESUME_STEP}", "--follow"),
    ),
)
LAST_STEPS = (
    Step("destroy everything", ("--local", "destroy", FILE, "--yes")),
    Step("look for what is left", ("--local", "leftovers", FILE)),
)


def main() -> int:
    started = time.perf_counter()
    print(
        "The main job on the local cloud: emulated on this machine, nothing is bought, no account is touched."
    )
    _start_afresh()
    seconds: list[tuple[str, float]] = []
    for step in STEPS:
        seconds.append((step.title, _run(len(seconds) + 1, step)))
    _compare_losses()
    for step in LAST_STEPS:
        seconds.append((step.title, _run(len(seconds) + 1, step)))
    _neuronkit("local", "down")
    _summary(seconds, time.perf_counter() - started)
    return 0


def _start_afresh() -> None:
    """Another demo may have been stopped half-way; its cloud goes with everything in it."""
    os.environ["NEURONKIT_LOCAL_CLOUD_DIR"] = str(DIRECTORY / "local-cloud")
    subprocess.run(_command("local", "down"), cwd=ROOT, capture_output=True, check=False)
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)


def _run(number: int, step: Step) -> float:
    print(f"\n== {number}. {step.title}\n$ neuronkit {shlex.join(step.arguments)}", flush=True)
    started = time.perf_counter()
    _neuronkit(*step.arguments)
    elapsed = time.perf_counter() - started
    print(f"-- {elapsed:.1f} s", flush=True)
    return elapsed


def _neuronkit(*arguments: str) -> None:
    code = subprocess.run(
        _command(*arguments), cwd=DIRECTORY, stderr=subprocess.STDOUT, check=False
    ).returncode
    if code != 0:
        sys.exit(
            f"the demo stopped: `neuronkit {shlex.join(arguments)}` ended with {code}; run `make demo` to start afresh"
        )


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("neuronkit")), *arguments]


def _compare_losses() -> None:
    """The resumed run must have the uninterrupted run's losses to the last bit."""
    plan = load_plan(DIRECTORY / FILE, local=True).plan
    cloud = open_cloud(Console(local=True), plan.region, plan.account)
    bucket = _bucket(cloud, plan.stacks.storage)
    first, second = (_losses(cloud, bucket, run) for run in (FIRST_RUN, SECOND_RUN))
    wanted = {step: loss for step, loss in first.items() if step > RESUME_STEP}
    if second != wanted:
        sys.exit("the demo failed: the resumed run's losses differ from the uninterrupted run's")
    last = max(second)
    print(
        f"\n{SECOND_RUN} resumed after step {RESUME_STEP}: its {len(second)} losses equal {FIRST_RUN}'s exactly "
        f"(step {last}: {second[last]!r})"
    )


def _bucket(cloud: Cloud, stack: str) -> str:
    outputs = cloud.call("cloudformation", "describe_stacks", StackName=stack)["Stacks"][0]["Outputs"]
    return next(str(o["OutputValue"]) for o in outputs if o["OutputKey"] == OUTPUT_BUCKET)


def _losses(cloud: Cloud, bucket: str, run: str) -> dict[int, float]:
    text = (read_bytes(cloud, bucket, metrics_key(JOB, run)) or b"").decode()
    return {row["step"]: row["loss"] for row in map(json.loads, text.splitlines())}


def _summary(seconds: list[tuple[str, float]], total: float) -> None:
    print("\n== What it took")
    for title, elapsed in seconds:
        print(f"{elapsed:6.1f} s  {title}")
    print(f"{total:6.1f} s  in all")
    print(
        "\nEmulated: the cloud, its chips and its EFA devices. Real: the templates, the CDK CLI, the job definition, the"
    )
    print(
        "training (numpy, 4 processes over TCP), the checkpoints, the teardown and its search for leftovers."
    )
    print("\n== Next, on a real account")
    print(_real_account_words())


def _real_account_words() -> str:
    file = DIRECTORY / "first-hour.yaml"
    subprocess.run(
        _command("init", "first-hour", "--from", REAL_STARTER, "-o", file.name),
        cwd=DIRECTORY,
        capture_output=True,
        check=True,
    )
    loaded = load_plan(file)
    cost = loaded.cost
    quotas = needed_vcpus(loaded.plan, load_catalog())
    needed = " and ".join(f"{vcpus} vCPUs ({code})" for code, vcpus in quotas.items())
    per_hour = "unknown" if cost.usd_per_hour is None else f"${cost.usd_per_hour:.2f}"
    return (
        f"neuronkit init first-hour --from {REAL_STARTER}    then write your account into it\n"
        "neuronkit bootstrap first-hour.yaml; neuronkit deploy first-hour.yaml; neuronkit launch first-hour.yaml smoke --follow\n"
        f"It costs {per_hour} an hour while its one node runs and ${cost.idle_usd_per_hour:.2f} an hour between jobs (bundled prices, before\n"
        f"data transfer and tax), and needs a quota of {needed}. The way out: neuronkit destroy first-hour.yaml\n"
        'The README\'s "first hour on a real account" has the permissions and the order.'
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KitError as error:
        sys.exit(f"the demo stopped: {error.message}\n{error.hint}")
    except KeyboardInterrupt:
        sys.exit("\nthe demo was interrupted; run `make demo` to start afresh")
