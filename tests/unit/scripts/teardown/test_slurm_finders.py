"""Whose are PCS's things: a stack's, loose, a stranger's, or left behind by a cluster that is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scripts.aws import pcs
from scripts.aws.ec2 import Ec2Kind, Ec2Resource
from scripts.aws.log_deliveries import DeliveryPart
from scripts.aws.logs import LogGroup
from scripts.aws.pcs import PcsResource
from scripts.teardown import finders, slurm_finders
from scripts.teardown.found import Found
from scripts.teardown.model import Item
from scripts.teardown.scope import Scope, SlurmScope
from stacks.domain.names import ENVIRONMENT_TAG, PCS_CLUSTER_TAG, PCS_NODE_GROUP_TAG

CLOUD: Any = None
OURS, NEIGHBOURS = {ENVIRONMENT_TAG: "pilot"}, {ENVIRONMENT_TAG: "pilot-2"}


def arn(id_: str) -> str:
    return f"arn:aws:pcs:us-east-2:1:cluster/{id_}"


def resource(kind: str, id_: str, cluster_id: str, name: str = "", status: str = "ACTIVE") -> PcsResource:
    return PcsResource(kind, id_, name or id_, arn(id_), cluster_id, status)


class Pcs:
    """The answers of one account."""

    def __init__(self) -> None:
        self.found: list[PcsResource] = []
        self.tags: dict[str, dict[str, str]] = {}
        self.nodes: list[Ec2Resource] = []

    def clusters(self, cloud: Any) -> tuple[PcsResource, ...]:
        return tuple(one for one in self.found if one.kind == pcs.CLUSTER)

    def parts(self, cloud: Any, cluster_id: str) -> tuple[PcsResource, ...]:
        return tuple(one for one in self.found if one.kind != pcs.CLUSTER and one.cluster_id == cluster_id)

    def tags_of(self, cloud: Any, arn: str) -> dict[str, str]:
        return self.tags.get(arn, {})


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Pcs:
    made = Pcs()
    monkeypatch.setattr(slurm_finders.pcs, "clusters", made.clusters)
    monkeypatch.setattr(slurm_finders.pcs, "parts", made.parts)
    monkeypatch.setattr(slurm_finders.pcs, "tags", made.tags_of)
    monkeypatch.setattr(slurm_finders.ec2, "with_tag", lambda *_: tuple(made.nodes))
    return made


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


def scope(members: tuple[str, ...] = (), **slurm: Any) -> Scope:
    return Scope("pilot", members=frozenset(members), slurm=SlurmScope(is_used=True, **slurm))


def full(cluster_id: str, name: str = "") -> list[PcsResource]:
    return [
        resource(pcs.CLUSTER, cluster_id, cluster_id, name),
        resource(pcs.QUEUE, f"{cluster_id}-q", cluster_id, "train"),
        resource(pcs.NODE_GROUP, f"{cluster_id}-g", cluster_id, "trn2-us0"),
    ]


def test_a_cluster_of_ours_outside_of_every_stack_goes_with_all_its_parts(account: Pcs) -> None:
    account.found = [*full("pcs_a"), *full("pcs_b"), *full("pcs_c", "pilot-train")]
    account.tags = {arn("pcs_a"): OURS, arn("pcs_b"): NEIGHBOURS}
    found = slurm_finders.clusters(CLOUD, scope())
    assert ids(found.loose) == ["pcs_a/pcs_a-q", "pcs_a/pcs_a-g", "pcs_a/pcs_a"]
    assert ids(found.suspects) == ["pcs_c/pcs_c"]


def test_what_a_stack_has_is_the_stacks_but_for_what_it_got_stuck_on(account: Pcs) -> None:
    account.found = full("pcs_a")
    members = tuple(one.arn for one in account.found)
    assert slurm_finders.clusters(CLOUD, scope(members)).loose == ()
    stuck = frozenset({arn("pcs_a-g")})
    assert ids(slurm_finders.clusters(CLOUD, scope(members, stuck=stuck)).loose) == ["pcs_a/pcs_a-g"]


def test_a_group_made_by_hand_in_our_cluster_is_ours_only_with_our_tag(account: Pcs) -> None:
    account.found = [
        *full("pcs_a"),
        resource(pcs.NODE_GROUP, "mine", "pcs_a"),
        resource(pcs.NODE_GROUP, "yours", "pcs_a"),
    ]
    account.tags = {arn("yours"): OURS}
    found = slurm_finders.clusters(CLOUD, scope((arn("pcs_a"), arn("pcs_a-q"), arn("pcs_a-g"))))
    assert ids(found.loose) == ["pcs_a/yours"]
    assert ids(found.suspects) == ["pcs_a/mine"]
    assert "cannot be deleted before it" in found.suspects[0].why


def node(id_: str, **tags: str) -> Ec2Resource:
    return Ec2Resource("instance", id_, "", "running", tags, "", is_managed=False)


def test_running_nodes_are_announced_by_group(account: Pcs) -> None:
    account.found = full("pcs_a", "pilot-train")
    account.nodes = [
        node("i-1", **{PCS_NODE_GROUP_TAG: "pcs_a-g"}),
        node("i-2", **{PCS_NODE_GROUP_TAG: "pcs_a-g"}),
        node("i-3"),
    ]
    (notice,) = slurm_finders.clusters(CLOUD, scope((arn("pcs_a"),))).notices
    assert notice == (
        "nodes of Slurm cluster pilot-train, and every job that runs on them, without a last checkpoint: 2 of trn2-us0, 1 of unknown groups"
    )


def test_nodes_of_a_living_cluster_are_left_to_pcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended by us, PCS would start others in their places, for ever where the group is static."""
    made = [
        Ec2Resource("instance", "i-1", "", "running", {**OURS, PCS_CLUSTER_TAG: "pcs_a"}, "", False),
        Ec2Resource("instance", "i-2", "", "running", {**OURS, PCS_CLUSTER_TAG: "pcs_gone"}, "", False),
    ]
    monkeypatch.setattr(finders.ec2, "with_tag", lambda *_: tuple(made))
    ask = finders.ec2_kind(finders.ec2.INSTANCE)
    found = ask(CLOUD, scope(living=frozenset({"pcs_a"})))
    assert ids(found.loose) == ["i-2"]


MANAGED = {slurm_finders.MANAGED_TAG: "true"}
LEFT = [
    ("names our gone cluster by tag", {**MANAGED, PCS_CLUSTER_TAG: "pcs_gone"}, "lt", "", "loose"),
    ("names our gone group by tag", {**MANAGED, PCS_NODE_GROUP_TAG: "pcs_gone_g"}, "lt", "", "loose"),
    ("names our gone group in its name", MANAGED, "pcs-pcs_gone_g-do-not-delete", "", "loose"),
    ("names our gone cluster in its description", MANAGED, "", "PCS pcs_gone", "loose"),
    ("names somebody else's cluster", {**MANAGED, PCS_CLUSTER_TAG: "pcs_b"}, "lt", "", "nobody's"),
    ("names none", MANAGED, "pcs-abc-do-not-delete", "", "suspect"),
    ("has our own tag, so another question finds it", {**MANAGED, **OURS}, "lt", "", "nobody's"),
]


@pytest.mark.parametrize(("what", "tags", "name", "description", "place"), LEFT)
def test_what_pcs_left_in_ec2(
    monkeypatch: pytest.MonkeyPatch, what: str, tags: dict[str, str], name: str, description: str, place: str
) -> None:
    def with_key(cloud: Any, kind: Ec2Kind, key: str) -> tuple[Ec2Resource, ...]:
        assert key == "AWSPCSManaged"
        is_template = kind is slurm_finders.ec2.LAUNCH_TEMPLATE
        return (Ec2Resource(kind.name, "lt-1", name, "", tags, description, False),) if is_template else ()

    monkeypatch.setattr(slurm_finders.ec2, "with_tag", lambda *_: ())
    monkeypatch.setattr(slurm_finders.ec2, "with_tag_key", with_key)
    found = slurm_finders.left_in_ec2(CLOUD, scope(gone=frozenset({"pcs_gone", "pcs_gone_g"})))
    assert (ids(found.loose), ids(found.suspects)) == {
        "loose": (["lt-1"], []),
        "suspect": ([], ["lt-1"]),
        "nobody's": ([], []),
    }[place], what


def test_log_groups_of_gone_clusters_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        slurm_finders.logs, "groups_below", lambda cloud, prefix: (LogGroup(f"{prefix}scheduler", "arn"),)
    )
    asked = scope(living=frozenset({"pcs_a"}), gone=frozenset({"pcs_gone"}))
    assert ids(slurm_finders.log_groups(CLOUD, asked).loose) == ["/aws/pcs/pcs_gone/scheduler"]


def test_log_deliveries_by_tag_and_by_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (
        DeliveryPart("log delivery source", "member", "arn:1", OURS),
        DeliveryPart("log delivery", "d-1", "arn:2", OURS),
        DeliveryPart("log delivery destination", "other", "arn:3", NEIGHBOURS),
        DeliveryPart("log delivery destination", "pilot-x", "arn:4", {}),
    )
    monkeypatch.setattr(slurm_finders.log_deliveries, "delivery_parts", lambda cloud: parts)
    found = slurm_finders.deliveries(CLOUD, scope(("member",)))
    assert (ids(found.loose), ids(found.suspects)) == (["d-1"], ["pilot-x"])


def test_what_pcs_and_the_account_keep_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        slurm_finders.secrets,
        "names_with_prefix",
        lambda cloud, prefix: ("pcs!slurm-secret-pcs_gone", "pcs!slurm-secret-pcs_b"),
    )
    monkeypatch.setattr(slurm_finders.iam, "role_exists", lambda cloud, name: name == "AWSServiceRoleForPCS")
    found = slurm_finders.kept_by_aws(CLOUD, scope(gone=frozenset({"pcs_gone"})))
    assert ids(found.kept) == ["pcs!slurm-secret-pcs_gone", "AWSServiceRoleForPCS"]
    assert found.loose == ()


@pytest.mark.parametrize("question", [question for _, question in slurm_finders.SLURM_QUESTIONS])
def test_without_slurm_nothing_of_it_is_asked(question: Callable[..., Found]) -> None:
    """So whoever has no such cluster needs no such permission."""
    assert question(CLOUD, Scope("pilot")) == Found()
