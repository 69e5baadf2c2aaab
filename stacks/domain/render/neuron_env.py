"""neuron.env: the Neuron runtime's environment for a job, as far as it does not depend on the node's rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.catalog import load_catalog
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.engine import render


@dataclass(frozen=True, slots=True)
class NeuronEnv:
    template: ClassVar[str] = "runtime/neuron.env.j2"

    environment: str
    job: str
    framework: str
    instance_type: str
    sdk: str
    joins_cores: bool
    logical_core_size: int
    rounds_stochastically: bool
    compiler_flags: str
    compile_cache_prefix: str
    has_efa: bool
    has_job_variables: bool
    job_variables: tuple[tuple[str, str], ...]


def neuron_env(plan: Plan, job: JobPlan) -> str:
    instance_type = plan.cluster(job.cluster).instance_type
    joins_cores = _joins_cores(instance_type)
    return render(
        NeuronEnv(
            environment=plan.name,
            job=job.name,
            framework=job.framework,
            instance_type=instance_type,
            sdk=_sdk_name(plan, job),
            joins_cores=joins_cores,
            logical_core_size=job.logical_core_size,
            rounds_stochastically=job.precision == "bf16",
            compiler_flags=_compiler_flags(job, joins_cores),
            compile_cache_prefix=compile_cache_prefix(plan, job),
            has_efa=job.efa_devices_per_node > 0,
            has_job_variables=bool(job.environment),
            job_variables=job.environment,
        )
    )


def compile_cache_prefix(plan: Plan, job: JobPlan) -> str:
    """Compiled for another SDK, type or LNC, a model is another one: then the cache starts anew."""
    instance_type = plan.cluster(job.cluster).instance_type
    return f"compile-cache/{_sdk_name(plan, job)}/{instance_type}-lnc{job.logical_core_size}"


def _joins_cores(instance_type: str) -> bool:
    """Whether the chip lets physical cores be joined at all; the variables for it mean nothing elsewhere."""
    known = load_catalog().get(instance_type)
    return known is not None and known.chip is not None and len(known.chip.logical_core_sizes) > 1


def _sdk_name(plan: Plan, job: JobPlan) -> str:
    """Names what compiled graphs depend on: the AMI where the job runs in a virtual environment of it, else the image's
    SDK; of an image that the bundled data does not know, its digest.
    """
    image, ami = job.image, plan.cluster(job.cluster).ami
    if job.virtual_environment is not None:
        return ami.id if ami is not None and ami.is_resolved else "ami-unknown"
    if image is not None and image.sdk is not None:
        return f"sdk-{image.sdk}"
    if image is not None and image.digest is not None:
        return f"image-{image.digest.removeprefix('sha256:')[:12]}"
    return "sdk-unknown"


def _compiler_flags(job: JobPlan, joins_cores: bool) -> str:
    """No cast behind the job's back: its precision is what it computes in, and what a comparison compares."""
    flags = ["--model-type=transformer", "--auto-cast=none"]
    if joins_cores:
        flags.append(f"--logical-nc-config={job.logical_core_size}")
    return " ".join(flags)
