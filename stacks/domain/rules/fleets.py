"""Serving fleets: how their nodes are bought, how many replicas there are, and where a replica lies."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.environment import Fleet
from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import FleetPlan, chips_per_replica
from stacks.domain.rules.node_blocks import (
    capacity_kind_of,
    fleet_type,
    neuron_blocks,
    node_blocks,
    replica_fits_node,
    replicas_per_node,
)
from stacks.domain.rules.rule import Facts, Problem, Rule

NOTHING_TO_MAKE = "NK700"
RESERVED_PROVIDER_PREFIXES = ("aws", "ecs", "fargate")
SPOT_NOTICE_SECONDS = 120
SCALE_IN_MINUTES = 15
IMAGE_ROOM_GIB = 100
"""Neuron images unpack to tens of GB, and what is compiled comes on top: a judgement, as for clusters (NK287)."""
GIB_PER_BILLION_PARAMETERS = 2e9 / 1024**3
"""In bf16. With artifacts: efs the model lies on the shared file system."""
SCHEMA_SOURCE = "`neuronkit schema`"
DESIGN_SOURCE = "this kit: design"
MANAGED_SOURCE = "botocore 1.44.8 ecs (CapacityReservationRequest: a reservation group's ARN); ECS developer guide, ecs-inference"
SLICES_SOURCE = "ECS developer guide, ecs-inference: one task a chip; ECS on EC2 counts no Neuron devices"
FROM_ZERO_SOURCE = "ECS developer guide, cluster-auto-scaling; aws/containers-roadmap#1716"
BLOCK_SOURCE = "EC2 user guide, capacity-blocks-using"


def something_is_made(facts: Facts) -> Iterator[Problem]:
    if not facts.environment.clusters and not facts.environment.fleets:
        yield Problem(
            ("clusters",),
            "no clusters and no fleets",
            "one entry at least under `clusters` or `fleets`",
            "there is nothing to make",
            "add one; `neuronkit init --list` names files to start from",
        )


def providers_can_be_named(facts: Facts) -> Iterator[Problem]:
    """CloudFormation makes a capacity provider's name from its stack's, which begins with the environment's."""
    name = facts.environment.name
    if facts.environment.fleets and name.lower().startswith(RESERVED_PROVIDER_PREFIXES):
        yield Problem(
            ("name",),
            repr(name),
            f"with fleets: names that do not begin with {', '.join(RESERVED_PROVIDER_PREFIXES)}",
            "ECS refuses capacity providers whose name begins so, and CloudFormation names them after the environment",
            "put another word in front",
        )


def managed_instances_are_not_reserved(facts: Facts) -> Iterator[Problem]:
    for block in neuron_blocks(facts.environment):
        kind = capacity_kind_of(facts, block)
        if not _is_managed(facts, block.name, block.kind) or kind not in ("reservation", "capacity-block"):
            continue
        yield Problem(
            (*block.path, "capacity"),
            f"{block.capacity!r} of kind {kind}",
            "capacity of kind on-demand or spot",
            "Managed Instances use reservations by a group of them only, and no capacity blocks; the file names single ones",
            "write runs_on: ec2, or take other capacity",
        )


def managed_instances_have_little_shared_memory(facts: Facts) -> Iterator[Problem]:
    for block in neuron_blocks(facts.environment):
        if not _is_managed(facts, block.name, block.kind):
            continue
        if facts.environment.fleets[block.name].tensor_parallel == 1:
            continue
        yield Problem(
            (*block.path, "runs_on"),
            "managed-instances",
            "ec2 for engines that use several processes",
            "ECS lets no task ask for shared memory there, and the processes of an engine with tensor_parallel above 1 talk "
            "through /dev/shm; whether its default is enough is not known",
            "write runs_on: ec2, or try it and suppress this",
        )


def a_block_ends(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if _kind(facts, fleet) == "capacity-block" and fleet.fallback is None:
            yield Problem(
                ("fleets", name, "capacity"),
                repr(fleet.capacity),
                message="EC2 takes the nodes at the block's end, and nothing else serves then",
                fix="name a GPU group under fallback, or accept it for a pilot that ends with the block",
            )


def spot_is_taken_back(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if _kind(facts, fleet) != "spot":
            continue
        reasons = []
        if fleet.longest_request_seconds > SPOT_NOTICE_SECONDS:
            reasons.append(
                f"a request of up to {fleet.longest_request_seconds} s is cut by the notice of {SPOT_NOTICE_SECONDS} s"
            )
        if fleet.fallback is None:
            reasons.append("nothing else serves when there is no spot capacity")
        if reasons:
            yield Problem(
                ("fleets", name, "capacity"),
                repr(fleet.capacity),
                message="; ".join(reasons),
                fix="take on-demand capacity, or a fallback and shorter requests",
            )


def a_fleet_takes_one_reservation(facts: Facts) -> Iterator[Problem]:
    for block in node_blocks(facts.environment):
        capacity = facts.environment.capacity.get(block.capacity)
        if block.kind != "cluster" and capacity is not None and capacity.ids:
            yield Problem(
                (*block.path, "capacity"),
                repr(block.capacity),
                "capacity with id",
                "ids are for UltraServers under Slurm: a fleet has one group of nodes",
                "write an entry with id for it",
            )


def a_reservation_is_of_one_type(facts: Facts) -> Iterator[Problem]:
    first: dict[str, tuple[str, str]] = {}
    for block in node_blocks(facts.environment):
        if capacity_kind_of(facts, block) not in ("reservation", "capacity-block"):
            continue
        words, type_name = first.setdefault(block.capacity, (block.words, block.type_name))
        if block.kind != "cluster" and type_name != block.type_name:
            yield Problem(
                (*block.path, "capacity"),
                repr(block.capacity),
                f"a reservation of {block.type_name}",
                f"{words} has it for {type_name}, and a reservation or block holds one instance type",
                "give it an entry of its own",
            )


def shared_reservations_are_shifted(facts: Facts) -> Iterator[Problem]:
    """With a shift somebody decides who has the nodes."""
    shifts = {(shift.fleet, shift.cluster) for shift in facts.environment.shifts.values()}
    for name, fleet in facts.environment.fleets.items():
        if _kind(facts, fleet) not in ("reservation", "capacity-block"):
            continue
        for cluster, settings in facts.environment.clusters.items():
            same = settings.capacity == fleet.capacity and settings.instance_type == fleet.instance_type
            if same and (name, cluster) not in shifts:
                yield Problem(
                    ("fleets", name, "capacity"),
                    repr(fleet.capacity),
                    message=f"cluster {cluster} takes nodes of the same reservation: who starts first has them",
                    fix="add a shift of the two, or reservations of their own",
                )


def inf1_is_on_ec2(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if fleet.runs_on == "managed-instances" and instance_type and instance_type.family == "inf1":
            yield Problem(
                ("fleets", name, "runs_on"),
                fleet.runs_on,
                "ec2",
                "ECS runs Inf1 on the EC2 launch type only",
                "write runs_on: ec2, or take Inf2",
            )


def driver_of_managed_instances(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.runs_on == "managed-instances":
            yield Problem(
                ("fleets", name, "runs_on"),
                fleet.runs_on,
                message="AWS chooses the AMI and does not publish its Neuron driver: whether it starts the image is not known, "
                "and instances are replaced after 14 days",
                fix="start one replica before you rely on it, or write runs_on: ec2 with an AMI that is pinned",
            )


def managed_instances_hold_one(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.runs_on == "managed-instances" and (fleet.replicas.per_node or 1) > 1:
            yield Problem(
                ("fleets", name, "replicas", "per_node"),
                str(fleet.replicas.per_node),
                "1 or null",
                "a task on Managed Instances gets all Neuron devices of its instance",
                "write runs_on: ec2 for several replicas on a node",
            )


def slices_fit_the_node(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        instance_type, wanted = fleet_type(facts, name), fleet.replicas.per_node
        if instance_type is None or wanted is None or not replica_fits_node(fleet, instance_type):
            continue
        chips = chips_per_replica(fleet, instance_type)
        most = instance_type.chips // chips
        if wanted > most and fleet.runs_on == "ec2":
            yield Problem(
                ("fleets", name, "replicas", "per_node"),
                str(wanted),
                f"1 to {most}" if most > 1 else "1",
                f"a replica of tensor_parallel {fleet.tensor_parallel} takes {chips} whole "
                f"chip{'s' if chips > 1 else ''}, {fleet.instance_type} has {instance_type.chips}",
                f"write {most}, or leave the key out",
            )


def replicas_are_in_order(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.replicas.minimum > fleet.replicas.maximum:
            yield Problem(
                ("fleets", name, "replicas"),
                f"minimum {fleet.replicas.minimum}, maximum {fleet.replicas.maximum}",
                "a minimum that is not above the maximum",
                fix=f"write maximum: {fleet.replicas.minimum} or more",
                at_key=True,
            )


def zero_has_its_waker(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.replicas.minimum == 0 and fleet.scale_to_zero is None:
            yield Problem(
                ("fleets", name, "replicas", "minimum"),
                "0",
                f"1 to {fleet.replicas.maximum}, or scale_to_zero",
                "nothing would start the fleet again: its own metrics have no data without a replica",
                "write minimum: 1, or add scale_to_zero: {}",
            )


def zero_is_allowed(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.scale_to_zero is not None and fleet.replicas.minimum > 0:
            yield Problem(
                ("fleets", name, "scale_to_zero"),
                f"with minimum {fleet.replicas.minimum}",
                "minimum: 0 with it",
                "the fleet never gets to zero",
                "write minimum: 0 under replicas, or scale_to_zero: null",
                at_key=True,
            )


def replicas_fill_nodes(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        each = replicas_per_node(facts, name)
        if each and (fleet.replicas.maximum % each or fleet.replicas.minimum % each):
            least, most = (
                -(-number // each) * each for number in (fleet.replicas.minimum, fleet.replicas.maximum)
            )
            yield Problem(
                ("fleets", name, "replicas"),
                f"{fleet.replicas.minimum} to {fleet.replicas.maximum}",
                message=f"a node has {each} replicas and is started whole: {least} to {most} run, which is paid as well",
                fix=f"write {least} and {most}, or per_node: 1",
                at_key=True,
            )


def two_nodes_start_from_zero(facts: Facts) -> Iterator[Problem]:
    for fleet in facts.plan.fleets if facts.plan else ():
        settings = fleet.settings
        if settings.scale_to_zero is None or settings.runs_on != "ec2" or fleet.nodes_maximum < 2:
            continue
        yield Problem(
            ("fleets", fleet.name, "scale_to_zero"),
            f"up to {fleet.nodes_maximum} nodes",
            message="from zero ECS managed scaling asks for two instances, however few are needed; the waker asks for the right number "
            f"first, which nobody has tried. A second one would be idle for {SCALE_IN_MINUTES} minutes at least: {_idle_words(facts, fleet)} each time",
            fix="count it in, or let one node be the maximum",
            at_key=True,
        )


def _idle_words(facts: Facts, fleet: FleetPlan) -> str:
    found = facts.catalog.get(fleet.instance_type)
    kind = "spot" if fleet.capacity.kind == "spot" else "on-demand"
    price = found.price(kind, facts.environment.region) if found else None
    if price is None or not price.primary:
        return f"what that costs is not known (no {kind} price in {facts.environment.region})"
    return f"about ${price.usd_per_hour * SCALE_IN_MINUTES / 60:.2f}"


def disks_hold_the_model(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        weights = fleet.model.parameters_billions * GIB_PER_BILLION_PARAMETERS
        on_efs = fleet.artifacts == "efs"
        needed = round(IMAGE_ROOM_GIB + (0 if on_efs else weights))
        if fleet.root_volume_gib < needed:
            model = "" if on_efs else f", {weights:,.0f} GiB for the weights in bf16"
            yield Problem(
                ("fleets", name, "root_volume_gib"),
                str(fleet.root_volume_gib),
                f"{needed} or more",
                f"about {IMAGE_ROOM_GIB} GiB for the image and what is compiled{model}",
                f"write {needed}",
            )


def _kind(facts: Facts, fleet: Fleet) -> str | None:
    capacity = facts.environment.capacity.get(fleet.capacity)
    return capacity.kind if capacity else None


def _is_managed(facts: Facts, name: str, kind: str) -> bool:
    return kind == "fleet" and facts.environment.fleets[name].runs_on == "managed-instances"


def custom_engines_tell_their_load(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        scales = fleet.replicas.maximum > fleet.replicas.minimum
        if fleet.engine == "custom" and (fleet.scale_to_zero is not None or scales):
            yield Problem(
                ("fleets", name, "engine"),
                "custom",
                message="a fleet scales and sleeps by the gauges neuronkit_requests_running and neuronkit_requests_waiting of "
                "GET /metrics; an image that does not answer so never scales and never sleeps",
                fix="let the image answer with both, or write minimum = maximum without scale_to_zero",
            )


RULES = (
    Rule("NK791", Severity.WARNING, "image whose load nobody knows", "the node stays on for its lifetime, while the file promises zero", "this kit: exporter", custom_engines_tell_their_load),
    Rule("NK793", Severity.ERROR, "environment named like ECS's own", "the deploy of each fleet would be rolled back", "botocore 1.44.8 ecs (CreateCapacityProvider name)", providers_can_be_named),
    Rule("NK794", Severity.WARNING, "shared memory on Managed Instances", "a replica that runs out of it fails under load", "ECS developer guide, managed-instances-tasks-services", managed_instances_have_little_shared_memory),
    Rule(NOTHING_TO_MAKE, Severity.ERROR, "nothing to make", "an environment is training nodes, serving nodes, or both", DESIGN_SOURCE, something_is_made),
    Rule("NK701", Severity.ERROR, "Managed Instances on reserved capacity", "the instances would be bought beside the reservation, which is paid all the same", MANAGED_SOURCE, managed_instances_are_not_reserved),
    Rule("NK702", Severity.WARNING, "a fleet that ends with its block", "clients get errors from then on", BLOCK_SOURCE, a_block_ends),
    Rule("NK703", Severity.WARNING, "spot under a fleet", "EC2 takes an instance back with two minutes of notice", "EC2 user guide, spot-interruptions", spot_is_taken_back),
    Rule("NK704", Severity.ERROR, "several reservations for one fleet", "only one of them would be used, and all are paid", SCHEMA_SOURCE, a_fleet_takes_one_reservation),
    Rule("NK705", Severity.ERROR, "two types on one reservation", "instances of the other type never start", BLOCK_SOURCE, a_reservation_is_of_one_type),
    Rule("NK706", Severity.WARNING, "fleet and cluster on one reservation", "a training job would keep the fleet from starting, or the other way round", DESIGN_SOURCE, shared_reservations_are_shifted),
    Rule("NK707", Severity.ERROR, "Inf1 on Managed Instances", "the service never starts a task", "ECS developer guide, ecs-inference", inf1_is_on_ec2),
    Rule("NK708", Severity.WARNING, "driver that nobody publishes", "not checked is not fine", "bottlerocket-os/bottlerocket-kernel-kit#238; ECS developer guide, ecs-inference", driver_of_managed_instances),
    Rule("NK709", Severity.ERROR, "several replicas on a managed instance", "NeuronDevice takes the value ALL only", "ECS developer guide, ecs-inference", managed_instances_hold_one),
    Rule("NK710", Severity.ERROR, "more replicas than a node has chips for", "two replicas on one chip take its memory from each other, or fail to start", SLICES_SOURCE, slices_fit_the_node),
    Rule("NK711", Severity.ERROR, "minimum above maximum", "Application Auto Scaling refuses it", "botocore 1.44.8 application-autoscaling RegisterScalableTarget", replicas_are_in_order),
    Rule("NK712", Severity.ERROR, "no replicas, and nothing that starts them", "a load balancer without targets answers 503 for ever", "ECS developer guide, service-autoscaling-targettracking; aws/copilot-cli#3054", zero_has_its_waker),
    Rule("NK713", Severity.ERROR, "scale to zero with a minimum", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, zero_is_allowed),
    Rule("NK714", Severity.INFO, "replicas round up to whole nodes", "the scaling unit is the node", DESIGN_SOURCE, replicas_fill_nodes),
    Rule("NK716", Severity.WARNING, "small root volume of a fleet", "a full disk ends the start after the image was pulled", "amazon-ecs-ami@a2532d3 variables (30 GB by default); sizes of the Neuron images (2026-08)", disks_hold_the_model),
)  # fmt: skip

PLAN_RULES = (
    Rule("NK715", Severity.INFO, "two instances from zero", "each wake has its price", FROM_ZERO_SOURCE, two_nodes_start_from_zero),
)  # fmt: skip
