"""Slurm: a job as a batch script, the same for all of its runs; a run as a submission of it. Nothing is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.errors import InputError
from stacks.domain.names import package_key, run_prefix
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.render.batch import Run
from stacks.domain.render.engine import render
from stacks.domain.render.node_bootstrap import LAST_COPY_SECONDS, SLURM_STOP_GRACE_SECONDS
from stacks.domain.render.node_programs import is_in_ultraservers, read_arguments
from stacks.domain.slurm import is_older
from stacks.domain.slurm_plan import SlurmPlan

EARLY_WARNING_SECONDS = 60
"""By so much Slurm's signal may come too early (sbatch manual, --signal)."""
LINK_TEST_SECONDS = 300
EXPEDITED_REQUEUE_SINCE = "25.11"
"""Slurm 25.11 release notes: a job whose node fails starts again at once, before all others."""


@dataclass(frozen=True, slots=True)
class SlurmJobScript:
    template: ClassVar[str] = "jobs/slurm/job.sbatch.j2"

    environment: str
    job: str
    region: str
    partition: str
    nodes: int
    states_cpus: bool
    cpus_per_node: int
    counts_devices: bool
    devices_per_node: int
    has_constraint: bool
    constraint: str
    time_limit_minutes: int
    warning_seconds: int
    retries: bool
    attempts: int
    nodes_come_with_jobs: bool
    runs_directory: str
    runs_prefix: str
    slurm_programs: str
    bucket: str
    package_key: str
    package_sha256: str
    chips_per_node: int
    efa_devices_per_node: int
    logical_cores_per_node: int
    tests_links: bool
    link_test_seconds: int
    in_ultraservers: bool
    ultraserver_nodes: int
    ultraserver_read_arguments: tuple[str, ...]
    has_virtual_environment: bool
    virtual_environment: str
    container_options: tuple[str, ...]
    container_command: tuple[str, ...]
    uses_apptainer: bool
    image_file: str
    image_source: str
    image_needs_login: bool


def job_script(plan: Plan, job: JobPlan, package_sha256: str, bucket: str) -> str:
    cluster, slurm = plan.cluster(job.cluster), slurm_of(plan, job)
    mount = _mount_point(slurm, job)
    image = "" if job.image is None else job.image.pinned_uri
    if job.virtual_environment is None and not image:
        raise InputError(f"no container image is known for job {job.name}", "name one under software.images")
    constraint = _constraint(cluster, job)
    states_cpus = slurm.cpus_per_node is not None and "CpuSpecList" not in dict(slurm.node_settings)
    uses_apptainer = slurm.runs_in == "apptainer"
    image_file = _image_file(mount, plan, image)
    return render(
        SlurmJobScript(
            environment=plan.name,
            job=job.name,
            region=plan.region,
            partition=slurm.queue,
            nodes=job.nodes,
            states_cpus=states_cpus,
            cpus_per_node=slurm.cpus_per_node or 0,
            counts_devices=slurm.gres_per_node > 0,
            devices_per_node=slurm.gres_per_node,
            has_constraint=bool(constraint),
            constraint=constraint,
            time_limit_minutes=job.time_limit_seconds // 60,
            warning_seconds=warning_seconds(job),
            retries=job.attempts > 1,
            attempts=job.attempts,
            nodes_come_with_jobs=not slurm.is_static,
            runs_directory=_runs_directory(plan, job),
            runs_prefix=run_prefix(job.name, "").rstrip("/"),
            slurm_programs=f"/opt/aws/pcs/scheduler/slurm-{slurm.version}/bin",
            bucket=bucket,
            package_key=package_key(package_sha256),
            package_sha256=package_sha256,
            chips_per_node=job.chips_per_node,
            efa_devices_per_node=job.efa_devices_per_node,
            logical_cores_per_node=job.logical_cores_per_node,
            tests_links=job.logical_cores_per_node > 1,
            link_test_seconds=LINK_TEST_SECONDS,
            in_ultraservers=is_in_ultraservers(job),
            ultraserver_nodes=job.ultraserver_nodes,
            ultraserver_read_arguments=read_arguments(job),
            has_virtual_environment=job.virtual_environment is not None,
            virtual_environment=job.virtual_environment or "",
            container_options=_pyxis_options(job, mount, image) if slurm.runs_in == "pyxis" else (),
            container_command=_apptainer_words(job, mount, image_file) if uses_apptainer else (),
            uses_apptainer=uses_apptainer,
            image_file=image_file,
            image_source=f"docker://{image}",
            image_needs_login=".dkr.ecr." in image,
        )
    )


def submit_arguments(
    plan: Plan, job: JobPlan, run: Run, slurm_version: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """sbatch's options before the script, and the script's arguments. The run's directory must be there before.

    `slurm_version` is that of the Slurm which will take the job, where it is known: newer ones can do more.
    """
    options = [f"--job-name={run.id}", f"--output={run_directory(plan, job, run.id)}/job.log"]
    if job.attempts > 1 and slurm_version and not is_older(slurm_version, EXPEDITED_REQUEUE_SINCE):
        options.append("--requeue=expedite")
    arguments = [run.id]
    if run.resume_from is not None:
        arguments.append(run.resume_from)
        if run.resume_step is not None:
            arguments.append(str(run.resume_step))
    return tuple(options), tuple(arguments)


def run_directory(plan: Plan, job: JobPlan, run_id: str) -> str:
    """On the shared file system: the logs and the state of a run."""
    return f"{_runs_directory(plan, job)}/{run_id}"


def warning_seconds(job: JobPlan) -> int:
    """Before the time limit: enough for a checkpoint and its copy; of a short job half the time that is left when the
    signal comes as early as it may, so that it does not come before the job has begun.
    """
    wanted = EARLY_WARNING_SECONDS + SLURM_STOP_GRACE_SECONDS + LAST_COPY_SECONDS
    return min(wanted, max(1, (job.time_limit_seconds - EARLY_WARNING_SECONDS) // 2))


def slurm_of(plan: Plan, job: JobPlan) -> SlurmPlan:
    slurm = plan.cluster(job.cluster).slurm
    if slurm is None:
        raise InputError(f"job {job.name} runs on {job.cluster}, which is no Slurm cluster")
    return slurm


def _mount_point(slurm: SlurmPlan, job: JobPlan) -> str:
    if slurm.shared_storage is None:
        raise InputError(
            f"cluster {job.cluster} has no shared file system",
            f"add clusters.{job.cluster}.slurm.shared_storage",
        )
    return slurm.shared_storage.mount_point


def _runs_directory(plan: Plan, job: JobPlan) -> str:
    return f"{_mount_point(slurm_of(plan, job), job)}/neuronkit/{plan.name}/runs/{job.name}"


def _constraint(cluster: ClusterPlan, job: JobPlan) -> str:
    """What keeps a job on whole UltraServers, since AWS PCS has no topology plugin; empty where nothing has to.

    One of several UltraServers can be left to Slurm (matching OR). Several of more cannot: Slurm has no way to say
    "any two, whole", so the job takes the first ones, with counts.
    """
    slurm, ultraserver = cluster.slurm, cluster.ultraserver
    members = ultraserver.members if ultraserver else None
    features = slurm.ultraserver_features if slurm else ()
    if members is None or not features or job.nodes == cluster.nodes:
        return ""
    if job.nodes <= members:
        return features[0] if len(features) == 1 else f'"[{"|".join(features)}]"'
    needed = -(-job.nodes // members)
    return f'"[{"&".join(f"{feature}*{members}" for feature in features[:needed])}]"'


def _device_paths(job: JobPlan) -> tuple[str, ...]:
    chips = (f"/dev/neuron{index}" for index in range(job.chips_per_node))
    efa = (f"/dev/infiniband/uverbs{index}" for index in range(job.efa_devices_per_node))
    return (*chips, *efa)


def _pyxis_options(job: JobPlan, mount: str, image: str) -> tuple[str, ...]:
    """Enroot parts the registry from the image by a #."""
    registry, _, name = image.partition("/")
    mounts = ",".join(f"{path}:{path}" for path in (mount, *_device_paths(job)))
    return (f"--container-image={registry}#{name}", f"--container-mounts={mounts}")


def _image_file(mount: str, plan: Plan, image: str) -> str:
    name = image.replace("/", "_").replace(":", "_").replace("@", "_")
    return f"{mount}/neuronkit/{plan.name}/images/{name}.sif"


def _apptainer_words(job: JobPlan, mount: str, image_file: str) -> tuple[str, ...]:
    return ("apptainer", "exec", "--bind", ",".join((mount, *_device_paths(job))), image_file)
