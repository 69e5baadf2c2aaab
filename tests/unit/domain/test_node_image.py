"""Node images: which there are, what their components say, and that a version follows from content alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scripts.local_cloud.imagebuilder.documents import check_document
from stacks.domain.lock import Lock, LockedAmi
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.node_image_sources import pcs_packages
from stacks.domain.render.node_image import (
    COMPONENT_CHARACTERS_MAX,
    Component,
    node_image_components,
    recipe_version,
)
from tests.environments import plan_of
from tests.unit.domain.slurm_cases import second, slurm

REGION = "us-east-2"
DLAMI = "/aws/service/neuron/dlami/multi-framework/ubuntu-24.04/latest/image_id"
EFS = {"shared_storage": {"kind": "efs"}}
SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def images(changes: dict[str, Any], parent: str | None = None) -> tuple[NodeImagePlan, ...]:
    locked = {DLAMI: LockedAmi(id=parent, root_device_name="/dev/sda1")} if parent else {}
    lock = Lock(resolved_by="aws", region=REGION, amis=locked)
    return plan_of(changes, lock).built_images


def the_image(parent: str = "ami-0aaaabbbbccccdddd", **settings: Any) -> NodeImagePlan:
    (image,) = images(slurm(**settings), parent)
    return image


def components(**settings: Any) -> tuple[Component, ...]:
    return node_image_components(the_image(**settings), REGION)


def commands(component: Component) -> list[str]:
    document = YAML(typ="safe").load(component.document)
    steps = [step for phase in document["phases"] for step in phase["steps"]]
    return [text for step in steps for text in step["inputs"]["commands"]]


EVERY = [*components(), *components(runs_in="pyxis"), *components(runs_in="apptainer")]


def test_one_image_for_each_version_and_none_where_the_user_has_one() -> None:
    more = {"clusters.two": second(), "clusters.old": second(slurm={**EFS, "version": "26.05"})}
    found = images({**slurm(), **more})
    assert [image.slurm_version for image in found] == ["25.11", "26.05"]
    assert [image.reference for image in found] == ["node-image:slurm-25.11", "node-image:slurm-26.05"]
    assert images(slurm(ami="ami-0123456789abcdef0")) == ()
    assert images({}) == ()


def test_its_disk_is_no_larger_than_any_node_s_and_it_has_what_every_cluster_runs_in() -> None:
    more = second(root_volume_gib=600, slurm={**EFS, "runs_in": "pyxis"})
    (image,) = images({**slurm(), "clusters.two": more})
    assert (image.root_volume_gib, image.container_runtimes) == (512, ("pyxis",))


def test_the_parent_is_what_the_lock_says() -> None:
    assert the_image().parent.id == "ami-0aaaabbbbccccdddd"
    (unresolved,) = images(slurm())
    assert not unresolved.parent.is_resolved
    assert unresolved.parent.root_device_name == "/dev/sda1"
    assert the_image(parent_ami="ami-0bbbbccccddddeeee").parent.id == "ami-0bbbbccccddddeeee"


@pytest.mark.parametrize("component", EVERY, ids=lambda component: component.name)
def test_documents_are_such_as_image_builder_takes(component: Component) -> None:
    check_document(component.document)
    assert len(component.document) <= COMPONENT_CHARACTERS_MAX
    # What Image Builder's agent would take for its own.
    assert "{{" not in component.document


@pytest.mark.parametrize("component", EVERY, ids=lambda component: component.name)
def test_commands_are_clean_for_shellcheck(component: Component) -> None:
    for text in commands(component):
        assert text.lstrip().startswith(("#", "set -euo pipefail"))
        assert "set -euo pipefail" in text
        # The parent's own file is not here to be followed.
        done = subprocess.run(
            [SHELLCHECK, "--shell=bash", "--exclude=SC1091", "-"],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}"


def test_containers_come_only_where_a_cluster_asks() -> None:
    assert [c.name for c in components()] == ["pcs", "devices", "file-systems", "test"]
    assert [c.name for c in components(runs_in="pyxis")][3:] == ["pyxis", "test"]
    assert [c.name for c in components(runs_in="apptainer")][3:] == ["apptainer", "test"]


def test_nothing_of_pcs_is_installed_that_the_published_key_has_not_signed() -> None:
    packages = pcs_packages(REGION, "25.11")
    assert packages.key_fingerprint == "1C2432C1862F64D1F90A239A7EEF030EDDF5C21C"
    (text,) = [text for text in commands(components()[0]) if "installer.sh" in text]
    assert (
        text.index(packages.key_fingerprint)
        < text.index("gpg --batch --verify")
        < text.index("./installer.sh")
    )
    assert re.search(r"aws-pcs-slurm-25\.11-installer", text)
    assert f"aws-pcs-repo-{REGION}.s3.{REGION}" in text


def agent(version: str, release: str = "1") -> str:
    """As the PCS user guide shows the file (working-with_ami_custom_install-agent)."""
    return f"AGENT_INSTALL_DATE='Mon Nov 30 12:28:43 UTC 2026'\nAGENT_VERSION='{version}'\nAGENT_RELEASE='{release}'\n"


def checked_agent(version_file: str | None, directory: Path) -> subprocess.CompletedProcess[str]:
    """The image's own check of its agent, run here; None: no agent has written the file."""
    for phase, text in enumerate(text for text in commands(components()[-1]) if "AGENT_VERSION" in text):
        place = directory / str(phase)
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "pcs_bootstrap_init.sh").touch(mode=0o755)
        if version_file is not None:
            (place / "version").write_text(version_file)
        script = text.replace("/opt/aws/pcs", str(place))
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert phase == 1, "before the image is made, and on what starts from it"
    return done


@pytest.mark.parametrize(
    "words",
    [agent("1.5.0"), agent("1.5.0", "2"), agent("1.5.1"), agent("1.10.0"), agent("2.0.0"), agent("1.5.0").replace("'", '"')],
)  # fmt: skip
def test_an_agent_that_runs_lifecycle_actions_is_taken(words: str, tmp_path: Path) -> None:
    done = checked_agent(words, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PCS agent ")


@pytest.mark.parametrize("version", ["1.4.0", "1.4.99", "1.3.1", "0.9.9"])
def test_an_older_agent_fails_the_build_with_words(version: str, tmp_path: Path) -> None:
    done = checked_agent(agent(version), tmp_path)
    assert done.returncode == 1
    assert f"PCS agent {version}-1 does not run node lifecycle actions" in done.stderr
    assert "1.5.0-1 or newer is needed" in done.stderr


@pytest.mark.parametrize("words", [None, "", "AGENT_VERSION='1.5.0'\n", agent("new"), "version 1.5.0-1\n"])
def test_an_agent_that_does_not_say_its_version_fails_the_build(words: str | None, tmp_path: Path) -> None:
    done = checked_agent(words, tmp_path)
    assert done.returncode == 1
    assert "does not say which PCS agent this is" in done.stderr


VERSION = re.compile(r"1\.0\.(\d+)")


def test_the_version_follows_from_the_content_and_from_nothing_else() -> None:
    first = recipe_version(the_image(), REGION)
    assert first == recipe_version(the_image(), REGION)
    number = VERSION.fullmatch(first)
    assert number is not None
    assert int(number.group(1)) < 2**30
    (other_tags,) = images({**slurm(), "owner": "others", "tags": {"a": "b"}}, "ami-0aaaabbbbccccdddd")
    assert recipe_version(other_tags, REGION) == first
    (larger,) = images({**slurm(), "clusters.train.root_volume_gib": 600}, "ami-0aaaabbbbccccdddd")
    changed = [
        recipe_version(the_image("ami-0bbbbccccddddeeee"), REGION),
        recipe_version(the_image(runs_in="pyxis"), REGION),
        recipe_version(the_image(version="26.05"), REGION),
        recipe_version(larger, REGION),
    ]
    assert len({first, *changed}) == 5
