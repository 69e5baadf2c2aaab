"""The program that orders nodes travels with jobs whose nodes are members of UltraServers, and with no others."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.jobs import pack
from stacks.domain.rendered_files import rendered_files
from stacks.payload.node import ultraserver
from tests.environments import plan_of

MEMBERS = {"clusters.train.instance_type": "trn2u.48xlarge"}
SLURM = {"clusters.train.scheduler": "slurm", "clusters.train.slurm": {"shared_storage": {"kind": "efs"}}}
PROGRAM = Path(ultraserver.__file__).read_text()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("scheduler", [{}, SLURM], ids=["batch", "slurm"])
def test_the_package_and_the_rendered_files_have_it(scheduler: dict[str, Any], source: Path) -> None:
    plan = plan_of({**MEMBERS, **scheduler})
    package = gzip.decompress(pack(plan.job("smoke"), plan, source).content)
    with tarfile.open(fileobj=io.BytesIO(package)) as tar:
        member = tar.extractfile("neuronkit/ultraserver.py")
        assert member is not None
        assert member.read().decode() == PROGRAM
    files = {str(file.path): file.text for file in rendered_files(plan, None, lambda job: source)}
    assert files["jobs/smoke/ultraserver.py"] == PROGRAM


def test_other_jobs_do_without(source: Path) -> None:
    plan = plan_of({})
    package = gzip.decompress(pack(plan.job("smoke"), plan, source).content)
    with tarfile.open(fileobj=io.BytesIO(package)) as tar:
        assert not any("ultraserver" in name for name in tar.getnames())
    assert not any("ultraserver" in file.path.name for file in rendered_files(plan, None, lambda job: source))
