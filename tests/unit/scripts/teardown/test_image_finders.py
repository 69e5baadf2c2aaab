"""Image Builder's images: whose they are, which still build, and that nobody is asked without a reason."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.aws.imagebuilder import Image
from scripts.teardown import image_finders
from scripts.teardown.model import Inventory, Item, Stage
from scripts.teardown.order import AMI, IMAGE_BUILD, NODE_IMAGE, steps
from scripts.teardown.scope import Scope, SlurmScope
from stacks.domain.names import ENVIRONMENT_TAG, stack_names

CLOUD: Any = None
WITH_SLURM = Scope("pilot", slurm=SlurmScope(is_used=True))


def image(name: str, state: str = "AVAILABLE", tags: dict[str, str] | None = None) -> Image:
    arn = f"arn:aws:imagebuilder:us-east-2:1:image/{name}/1.0.5/1"
    return Image(arn, name, "1.0.5", state, "", "2026-11-30T00:00:00Z", None, tags or {})


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {ENVIRONMENT_TAG: "pilot"}
    images = (
        image("pilot-slurm-25-11", tags=ours),
        image("pilot-slurm-26-05", "BUILDING", ours),
        image("pilot-2-slurm-25-11", tags={ENVIRONMENT_TAG: "pilot-2"}),
        image("pilot-by-hand"),
        image("another"),
    )
    monkeypatch.setattr(image_finders.imagebuilder, "own_images", lambda cloud: iter(images))


@pytest.mark.usefixtures("there")
def test_ours_go_what_still_builds_is_stopped_first_and_names_make_suspects() -> None:
    found = image_finders.node_images(CLOUD, WITH_SLURM)
    assert [(item.kind, item.name, item.state) for item in found.loose] == [
        (NODE_IMAGE, "pilot-slurm-25-11/1.0.5/1", "AVAILABLE"),
        (IMAGE_BUILD, "pilot-slurm-26-05/1.0.5/1", "BUILDING"),
    ]
    assert [item.name for item in found.suspects] == ["pilot-by-hand/1.0.5/1"]


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("arns", "is_asked"),
    [((), False), (("arn:aws:imagebuilder:us-east-2:1:component/pilot-slurm-25-11-pcs/1.0.5/1",), True)],
)
def test_without_slurm_it_is_asked_only_where_something_carries_our_tag(
    arns: tuple[str, ...], is_asked: bool
) -> None:
    assert bool(image_finders.node_images(CLOUD, Scope("pilot", tagged_arns=arns)).loose) == is_asked


def test_images_go_before_the_stack_of_their_recipes_and_amis_after_everything_that_could_use_them() -> None:
    loose = tuple(Item(kind, kind) for kind in (AMI, "snapshot", NODE_IMAGE, IMAGE_BUILD))
    found = {step.kind: step.stage for step in steps(Inventory(loose=loose), stack_names("pilot", ()))}
    assert found[IMAGE_BUILD] < Stage.CLUSTERS
    assert found[NODE_IMAGE] < Stage.CLUSTERS
    assert found[AMI] > Stage.NETWORK
    assert found["snapshot"] > found[AMI]
