"""Whether nodes in a subnet that the user brings reach the services of AWS and the internet, and find file systems by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from stacks.domain.findings import Severity
from stacks.domain.live import CouldNotAsk, LiveEndpoint, LiveSubnet, known
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.rules.live_network import SUBNET, node_subnet, subnet_answers
from stacks.domain.rules.rule import Facts, Need, Problem, Rule
from stacks.domain.software import efa_installer

WAY_SOURCE = (
    "AWS PCS user guide, vpc-interface-endpoints (RegisterComputeNodeGroupInstance); Amazon ECS and ECR user guides, vpc-endpoints "
    "(no public repositories); Systems Manager user guide, setup-create-vpc; AWS Batch user guide, mnp-ce (tasks without a public address)"
)
DNS_SOURCE = "Amazon EFS user guide, mounting-fs-mount-cmd-dns-name"
OF_ALL = ("s3",)
OF_ECS = ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs")
OF_SLURM = ("pcs", "ssm", "ssmmessages")
"""Registration, and what `neuronkit launch` and a login go through."""
OF_CONTAINERS = ("ecr.api", "ecr.dkr")
REPOSITORY = re.compile(r"\d{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com")


def nodes_have_a_way_out(facts: Facts) -> Iterator[Problem]:
    subnet, plan = node_subnet(facts), facts.plan
    if subnet is None or plan is None or _leads_out(subnet, plan):
        return
    missing, beyond = _missing_endpoints(facts, subnet, plan), tuple(_beyond_endpoints(plan))
    if not missing and not beyond:
        return
    fixes = (
        "take a private subnet whose 0.0.0.0/0 goes to a NAT gateway",
        *(("make these endpoints in the VPC",) if missing and not beyond else ()),
    )
    yield Problem(
        SUBNET,
        repr(subnet.id),
        message=f"{_way_of(subnet)}{_without(missing)}{_nothing_leads_to(beyond)}",
        fix=", or ".join(fixes),
    )


def _way_of(subnet: LiveSubnet) -> str:
    target = subnet.default_route_target
    if target:
        return f"its 0.0.0.0/0 goes to {target}, and nodes and tasks get no public address there"
    return "it has no route for 0.0.0.0/0"


def _without(endpoints: tuple[str, ...]) -> str:
    if not endpoints:
        return ""
    return f"; nodes need endpoints in the VPC then, with private names, and these are missing: {', '.join(endpoints)}"


def _nothing_leads_to(places: tuple[str, ...]) -> str:
    return f"; no endpoint leads to {', '.join(places)}" if places else ""


def _leads_out(subnet: LiveSubnet, plan: Plan) -> bool:
    """An internet gateway serves public addresses, which an instance with one interface may get, and a task never."""
    target = subnet.default_route_target
    if not target.startswith("igw-"):
        return bool(target)
    alone = not plan.fleets and all(c.slurm and len(c.network_interfaces) == 1 for c in plan.clusters)
    return alone and subnet.gives_public_addresses


def _missing_endpoints(facts: Facts, subnet: LiveSubnet, plan: Plan) -> tuple[str, ...]:
    """Nothing where they were not answered: the rule then says that it did not check."""
    there = facts.live.endpoints
    if isinstance(there, CouldNotAsk):
        return ()
    reached = {endpoint.service for endpoint in there if _serves(endpoint, subnet)}
    return tuple(name for name in dict.fromkeys(_endpoints(plan)) if name not in reached)


def _serves(endpoint: LiveEndpoint, subnet: LiveSubnet) -> bool:
    if endpoint.is_gateway:
        return subnet.route_table_id in endpoint.route_table_ids
    return endpoint.has_private_dns


def _endpoints(plan: Plan) -> Iterator[str]:
    yield from OF_ALL
    if plan.fleets or any(cluster.slurm is None for cluster in plan.clusters):
        yield from OF_ECS
    for cluster in plan.clusters:
        if cluster.slurm is not None:
            yield from OF_SLURM
            if cluster.slurm.runs_in != "virtual-environment":
                yield from OF_CONTAINERS
    for arn in _secrets(plan):
        yield arn.split(":")[2]


def _secrets(plan: Plan) -> Iterator[str]:
    for job in plan.jobs:
        yield from (arn for _, arn in job.secrets)
    for fleet in plan.fleets:
        yield from fleet.settings.secrets.values()
        if fleet.settings.model.token is not None:
            yield fleet.settings.model.token


def _beyond_endpoints(plan: Plan) -> Iterator[str]:
    """What is on the internet only, each once."""
    yield from dict.fromkeys(_hosts_of_images(plan))
    if any(cluster.slurm is None and cluster.efa_interfaces_per_node for cluster in plan.clusters):
        yield f"{urlsplit(efa_installer().url).hostname} (EFA's driver)"
    if any(fleet.settings.model.source.startswith("hf:") for fleet in plan.fleets):
        yield "huggingface.co (models)"
    if plan.built_images:
        yield "what node images are built from"


def _hosts_of_images(plan: Plan) -> Iterator[str]:
    for uri in _images(plan):
        host = uri.split("/")[0]
        private = REPOSITORY.fullmatch(host)
        if private is None or private["region"] != plan.region:
            yield f"{host} (images)"


def _images(plan: Plan) -> Iterator[str]:
    images = [job.image for job in plan.jobs if _in_container(plan.cluster(job.cluster))]
    for fleet in plan.fleets:
        images += [fleet.image, *([fleet.fallback.image] if fleet.fallback else [])]
    return (image.uri for image in images if image is not None)


def _in_container(cluster: ClusterPlan) -> bool:
    return cluster.slurm is None or cluster.slurm.runs_in != "virtual-environment"


def file_systems_have_names(facts: Facts) -> Iterator[Problem]:
    dns = known(facts.live.vpc_dns, None)
    mounting = tuple(_mounting(facts.plan))
    if dns is None or not mounting or (dns.support and dns.hostnames):
        return
    off = [
        name
        for name, is_on in (("enableDnsSupport", dns.support), ("enableDnsHostnames", dns.hostnames))
        if not is_on
    ]
    vpc = facts.environment.network.vpc
    yield Problem(
        ("network", "vpc"),
        repr(vpc),
        message=f"{' and '.join(off)} {'is' if len(off) == 1 else 'are'} off: the name of an EFS file system, by which nodes mount it "
        f"for {' and '.join(mounting)}, is found with AWS's DNS only",
        fix="; ".join(f"`aws ec2 modify-vpc-attribute --vpc-id {vpc} --{_option(name)}`" for name in off),
    )


def _option(attribute: str) -> str:
    return re.sub(r"([A-Z][a-z]+)", lambda found: f"-{found[0].lower()}", attribute)


def _mounting(plan: Plan | None) -> Iterable[str]:
    if plan is None:
        return
    for cluster in plan.clusters:
        storage = cluster.slurm.shared_storage if cluster.slurm else None
        if storage is not None and storage.kind == "efs":
            yield f"cluster {cluster.name}"
    for fleet in plan.fleets:
        if fleet.settings.artifacts != "none":
            yield f"fleet {fleet.name}"


def _way_answers(facts: Facts) -> Iterator[object]:
    yield from subnet_answers(facts)
    if facts.environment.network.vpc != "new":
        yield facts.live.endpoints


def _dns_answers(facts: Facts) -> Iterator[object]:
    if facts.environment.network.vpc != "new" and any(_mounting(facts.plan)):
        yield facts.live.vpc_dns


THE_WAY = Need("the subnet that the file names, and its VPC's endpoints", _way_answers)
DNS = Need("whether the VPC that the file names has DNS", _dns_answers)

RULES = (
    Rule("NK373", Severity.WARNING, "no way out", "nodes cannot register, or pull images", WAY_SOURCE, nodes_have_a_way_out, THE_WAY),
    Rule("NK380", Severity.WARNING, "EFS in a VPC without AWS's names", "nodes do not find their file system, and are ended", DNS_SOURCE, file_systems_have_names, DNS),
)  # fmt: skip
