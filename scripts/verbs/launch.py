"""neuronkit launch FILE JOB"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console
from scripts.transport_option import TRANSPORT

if TYPE_CHECKING:
    from scripts.launching import Launched, Launcher
    from scripts.schedulers.login_node import TransportKind


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("job")
@click.option(
    "--follow", is_flag=True, help="Show state changes and the log of all nodes until the run ends."
)
@click.option("--resume", metavar="RUN[:STEP]|latest", help="Begin with a checkpoint of an earlier run.")
@click.option("--run", "run_name", metavar="NAME", help="The run's name, instead of JOB-N.")
@TRANSPORT
@click.pass_obj
def command(
    console: Console,
    file: Path,
    job: str,
    follow: bool,
    resume: str | None,
    run_name: str | None,
    transport: TransportKind,
) -> int | None:
    """Start a run of JOB, or join the run that is active. A repeated launch never starts a second one.

    Exit code 4: the run was followed and failed. Ctrl-C only stops following.
    """
    from scripts.run_choice import check_run_name, parse_resume

    wish = parse_resume(resume) if resume else None
    launcher = _launcher(console, file, job, transport)
    launched = launcher.launch(wish, check_run_name(run_name) if run_name else None)
    _announce(console, launched)
    if not follow:
        console.result(launched.as_dict(), _text(launched))
        return None
    return _follow(console, launcher, launched, transport)


def _launcher(console: Console, file: Path, job_name: str, transport: TransportKind) -> Launcher:
    from scripts.aws.session import open_cloud
    from scripts.deployed_cluster import find_deployed_cluster
    from scripts.launching import Launcher, find_job, require_image
    from scripts.loading import load_plan
    from scripts.schedulers.opening import open_scheduler
    from stacks.domain.buildable import refuse_unbuildable
    from stacks.domain.jobs import resolve_source

    plan = load_plan(file, local=console.local).plan
    refuse_unbuildable(plan)
    job = find_job(plan, job_name)
    source = resolve_source(job.source, file.resolve().parent)
    cloud = open_cloud(console, plan.region, plan.account)
    # Before the image: where nothing is deployed, a deploy is the next step, and resolves it.
    scheduler = open_scheduler(cloud, plan, plan.cluster(job.cluster), transport)
    require_image(job)
    deployed = find_deployed_cluster(cloud, plan, job.cluster)
    return Launcher(console, cloud, plan, job, scheduler, source, deployed)


def _announce(console: Console, launched: Launched) -> None:
    if launched.joined:
        console.progress(f"joined run {launched.run}, which is {launched.state}")
        return
    resumes = f" from step {launched.resumes.step} of {launched.resumes.run}" if launched.resumes else ""
    console.progress(f"started run {launched.run}{resumes} on {launched.nodes} nodes")


def _text(launched: Launched) -> str:
    return f"{launched.run} {launched.state} ({launched.scheduler_id})\nmetrics: {launched.metrics}\n{launched.logs_are}: {launched.logs}"


def _follow(console: Console, launcher: Launcher, launched: Launched, transport: TransportKind) -> int | None:
    from dataclasses import replace

    from scripts.complaint import complain
    from scripts.following import Follower

    print_line = console.progress if console.json else click.echo
    watch = launcher.scheduler.watch(launched.scheduled, launched.logs)
    follower = Follower(launcher.cloud, watch, console.progress, print_line)
    try:
        run = follower.follow()
    except KeyboardInterrupt:
        more = f" --transport {transport}" if transport != "ssm" else ""
        console.progress(
            f"\nno longer following; run {launched.run} goes on. Follow again: neuronkit logs FILE {launched.run} "
            f"--follow{more}; stop it: neuronkit status FILE --cancel {launched.run}{more}"
        )
        return 130
    final = replace(launched, scheduled=run)
    console.result(final.as_dict(), _text(final))
    if run.has_failed:
        return complain(console, watch.failure(run))
    return None
