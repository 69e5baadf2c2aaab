"""neuronkit launch FILE JOB"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console

if TYPE_CHECKING:
    from scripts.launching import Launched, Launcher


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("job")
@click.option(
    "--follow", is_flag=True, help="Show state changes and the log of all nodes until the run ends."
)
@click.option("--resume", metavar="RUN[:STEP]|latest", help="Begin with a checkpoint of an earlier run.")
@click.option("--run", "run_name", metavar="NAME", help="The run's name, instead of JOB-N.")
@click.pass_obj
def command(
    console: Console, file: Path, job: str, follow: bool, resume: str | None, run_name: str | None
) -> int | None:
    """Start a run of JOB, or join the run that is active. A repeated launch never starts a second one.

    Exit code 4: the run was followed and failed. Ctrl-C only stops following.
    """
    from scripts.run_choice import check_run_name, parse_resume

    wish = parse_resume(resume) if resume else None
    launcher = _launcher(console, file, job)
    launched = launcher.launch(wish, check_run_name(run_name) if run_name else None)
    _announce(console, launched)
    if not follow:
        console.result(launched.as_dict(), _text(launched))
        return None
    return _follow(console, launcher, launched, file)


def _launcher(console: Console, file: Path, job_name: str) -> Launcher:
    from scripts.aws.session import open_cloud
    from scripts.launching import Launcher, find_job, require_image
    from scripts.loading import load_plan
    from scripts.outputs import cluster_outputs
    from stacks.domain.buildable import refuse_unbuildable
    from stacks.domain.jobs import resolve_source

    plan = load_plan(file, local=console.local).plan
    refuse_unbuildable(plan)
    job = find_job(plan, job_name)
    require_image(job, str(file))
    source = resolve_source(job.source, file.resolve().parent)
    cloud = open_cloud(console, plan.region, plan.account)
    return Launcher(console, cloud, plan, job, cluster_outputs(cloud, plan, job.cluster), source)


def _announce(console: Console, launched: Launched) -> None:
    if launched.joined:
        console.progress(f"joined run {launched.run}, which is {launched.state}")
        return
    resumes = f" from step {launched.resumes.step} of {launched.resumes.run}" if launched.resumes else ""
    console.progress(f"started run {launched.run}{resumes} on {launched.nodes} nodes")


def _text(launched: Launched) -> str:
    return f"{launched.run} {launched.state} ({launched.scheduler_id})\nmetrics: {launched.metrics}\nlog group: {launched.logs}"


def _follow(console: Console, launcher: Launcher, launched: Launched, file: Path) -> int | None:
    from dataclasses import replace

    from scripts.complaint import complain
    from scripts.following import Follower, failure

    print_line = console.progress if console.json else click.echo
    follower = Follower(launcher.cloud, launched.logs, console.progress, print_line)
    try:
        job = follower.follow(launched.scheduler_id)
    except KeyboardInterrupt:
        option = " --local" if console.local else ""
        console.progress(
            f"\nno longer following; run {launched.run} goes on. Follow again: neuronkit{option} logs {file} {launched.run} "
            f"--follow; stop it: neuronkit{option} status {file} --cancel {launched.run}"
        )
        return 130
    final = replace(launched, state=job.state)
    console.result(final.as_dict(), _text(final))
    if job.state == "FAILED":
        return complain(console, failure(launcher.cloud, job))
    return None
