"""sbatch scripts: nodes, tasks, gres and the environment they export."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.lint import shell, subjects
from stacks.domain.lint.report import Place, Report
from stacks.domain.lint.shell import Script
from stacks.domain.lint.subjects import Variable

DIRECTIVE = re.compile(r"#SBATCH\s+(--?[\w-]+)(?:[= ]\s*(\S+))?")
SHORT = {
    "-N": "--nodes",
    "-n": "--ntasks",
    "-c": "--cpus-per-task",
    "-p": "--partition",
    "-C": "--constraint",
}
GRES = re.compile(r"(?:gres[:/])?(?:gpu:)?(neuron[\w-]*|trainium\w*|trn\w*)(?::[a-z]\w*)?:(\d+)")
ROOT_COMM, MAIN_ADDRESS = (
    "NEURON_RT_ROOT_COMM_ID",
    ("MASTER_ADDR", "NEURON_RT_ROOT_COMM_ID", "NEURON_PJRT_PROCESSES_NUM_DEVICES", "JAX_COORDINATOR_ADDRESS"),
)
RENDEZVOUS_OPTIONS = (
    "--master_addr",
    "--master-addr",
    "--rdzv_endpoint",
    "--rdzv-endpoint",
    "--rdzv_id",
    "--coordinator",
)
NODE_COUNT_VARIABLES = ("NUM_NODES", "NNODES", "WORLD_NODES")


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    place: Place

    @property
    def number(self) -> int | None:
        """Of a range the lower end, which Slurm guarantees."""
        first = self.value.partition("-")[0]
        return int(first) if first.isdecimal() and len(first) < 9 else None


def check(script: Script, catalog: Catalog, report: Report) -> None:
    options = _options(script)
    several = (options["--nodes"].number or 1) > 1 if "--nodes" in options else False
    instance_type = _instance_type(options, catalog, report)
    is_neuron = instance_type is not None or "neuron" in script.text.lower()
    shell.check_downloads(script, report)
    shell.check_secrets(script, report)
    shell.check_set_twice(script, report)
    shell.check_variables(
        script,
        report,
        is_whole_environment=options.get("--export", Option("", Place())).value.upper() == "NONE",
    )
    subjects.check_variables(
        (Variable(a.name, a.value, a.place) for a in script.assignments), report, several_nodes=several
    )
    _check_cpus(options, script, report)
    _check_tasks(options, script, report)
    if not is_neuron:
        return
    _check_gres(options, instance_type, catalog, report)
    _check_processes(options, script, instance_type, report)
    if several:
        _check_rendezvous(options, script, report)


def _options(script: Script) -> dict[str, Option]:
    """Slurm stops looking at the first command."""
    found: dict[str, Option] = {}
    for line in script.lines:
        text = line.text.strip()
        if text and not text.startswith("#"):
            break
        match = DIRECTIVE.match(text)
        if match:
            found[SHORT.get(match[1], match[1])] = Option((match[2] or "").strip("\"'"), line.place)
    return found


def _instance_type(options: dict[str, Option], catalog: Catalog, report: Report) -> InstanceType | None:
    """Clusters name their constraint or partition after the type; ParallelCluster as trn2-48xlarge or trn248xlarge."""
    for name in ("--constraint", "--partition"):
        option = options.get(name)
        if option is None:
            continue
        given = option.value.lower()
        if subjects.TYPE_LIKE.fullmatch(given):
            return subjects.check_type_name(given, option.place, catalog, report)
        plain = re.sub(r"[^a-z0-9]", "", given)
        fitting = [
            t for t in catalog.instance_types.values() if t.is_neuron and t.name.replace(".", "") in plain
        ]
        if fitting:
            return max(fitting, key=lambda t: len(t.name))
    return None


def _check_cpus(options: dict[str, Option], script: Script, report: Report) -> None:
    option = options.get("--cpus-per-task")
    runs = [line for line in script.active if re.search(r"(^|[\s;&(])srun\s", line.text)]
    reaches = "SRUN_CPUS_PER_TASK" in script.text or all(
        re.search(r"\s(-c|--cpus-per-task)[ =\d]", r.text) for r in runs
    )
    if option is not None and (option.number or 1) > 1 and runs and not reaches:
        report.add(
            "NK491",
            runs[0].place,
            given=runs[0].text.strip(),
            message=f"its tasks get one CPU each, not {option.value}",
            fix="export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK",
        )


def _check_tasks(options: dict[str, Option], script: Script, report: Report) -> None:
    nodes, tasks, per_node = (
        options[name].number if name in options else None
        for name in ("--nodes", "--ntasks", "--ntasks-per-node")
    )
    if nodes and tasks and per_node and nodes * per_node != tasks:
        report.add(
            "NK492",
            options["--ntasks"].place,
            given=f"--ntasks={tasks}",
            allowed=str(nodes * per_node),
            message=f"{nodes} nodes x {per_node} tasks a node",
            fix="leave --ntasks out",
        )
    elif nodes and tasks and not per_node and tasks % nodes:
        report.add(
            "NK492",
            options["--ntasks"].place,
            given=f"--ntasks={tasks}",
            allowed=f"a multiple of {nodes}",
            message=f"{tasks} tasks on {nodes} nodes are not equal parts",
            fix="write --ntasks-per-node",
        )
    if not nodes:
        return
    said = [(a.name, a.value, a.place) for a in script.assignments if a.name in NODE_COUNT_VARIABLES]
    said += [
        (m[0], m[1], line.place) for line in script.active for m in subjects.NODES_OPTION.finditer(line.text)
    ]
    for name, value, place in said:
        if value.isdecimal() and int(value) != nodes:
            report.add(
                "NK457",
                place,
                given=f"{name} says {value}",
                allowed=f"{nodes}, or $SLURM_NNODES",
                message=f"--nodes is {nodes}",
                fix="write $SLURM_NNODES",
            )


def _check_gres(
    options: dict[str, Option], instance_type: InstanceType | None, catalog: Catalog, report: Report
) -> None:
    option = options.get("--gres") or options.get("--gpus-per-node")
    match = GRES.search(option.value) if option else None
    if option is None or match is None:
        return
    name, given = match[1], int(match[2])
    if instance_type is None:
        most = max(t.chips for t in catalog.instance_types.values())
        if "core" not in name and given > most:
            report.add(
                "NK490",
                option.place,
                given=option.value,
                allowed=f"at most {most}",
                message=f"no node has {given} chips: {name} counts devices /dev/neuronN",
                fix="count chips, or take the gres of cores",
            )
        return
    sizes = instance_type.chip.logical_core_sizes if instance_type.chip else ()
    cores = {instance_type.logical_cores(size) or 0 for size in sizes}
    if "core" in name:
        if given == instance_type.chips not in cores or given > max(cores):
            report.add(
                "NK490",
                option.place,
                given=option.value,
                allowed=str(instance_type.logical_cores()),
                message=subjects.units(given, instance_type, instance_type.chips),
                fix=f"write {name}:{instance_type.logical_cores()}",
            )
    elif given > instance_type.chips:
        report.add(
            "NK490",
            option.place,
            given=option.value,
            allowed=f"at most {instance_type.chips}",
            message=f"{name} counts chips; {subjects.units(given, instance_type, instance_type.chips)}",
            fix=f"write {name}:{instance_type.chips}",
        )


def _check_processes(
    options: dict[str, Option], script: Script, instance_type: InstanceType | None, report: Report
) -> None:
    if instance_type is None or not instance_type.is_neuron:
        return
    option = options.get("--ntasks-per-node")
    legal = subjects.possible_processes(instance_type, instance_type.chips)
    if option is not None and option.number is not None and option.number not in legal:
        report.add(
            "NK233",
            option.place,
            given=f"--ntasks-per-node={option.number}",
            allowed=str(instance_type.logical_cores()),
            message=subjects.units(option.number, instance_type, instance_type.chips),
            fix=f"write {instance_type.logical_cores()}, or 1 with torchrun or JAX",
        )
    for line in script.active:
        subjects.check_processes(line.text, line.place, instance_type, None, report)


def _check_rendezvous(options: dict[str, Option], script: Script, report: Report) -> None:
    has_one = any(script.value_of(name) is not None for name in MAIN_ADDRESS)
    if not has_one and not any(option in script.text for option in RENDEZVOUS_OPTIONS):
        report.add(
            "NK493",
            options["--nodes"].place,
            given=f"--nodes={options['--nodes'].value}",
            allowed=f"{ROOT_COMM}, or MASTER_ADDR for torch-neuronx",
            fix=f"export {ROOT_COMM}=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1):PORT",
        )
