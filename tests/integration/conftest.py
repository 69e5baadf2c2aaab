"""One local cloud for a worker's tests; every test has an account, and so a world, of its own in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from scripts.local_cloud import process
from stacks.domain.render.starters import starter_text
from tests.integration.pilots import Pilot

_accounts = itertools.count(300000000001)
PilotFactory = Callable[..., Pilot]


@pytest.fixture(scope="session")
def shared_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[process.LocalCloud]:
    state_dir = tmp_path_factory.mktemp("shared-cloud")
    yield process.start(state_dir)
    process.stop(state_dir)


@pytest.fixture
def new_pilot(shared_cloud: process.LocalCloud, tmp_path: Path) -> PilotFactory:
    """`new_pilot(starter, name=…)` writes the file with an account; `bootstrapped=True` prepares the account, too."""

    def make(
        starter: str = "trn2-pilot",
        *,
        name: str = "pilot",
        account: str | None = None,
        bootstrapped: bool = True,
    ) -> Pilot:
        account = account or str(next(_accounts))
        text = starter_text(starter, name=name, file=f"{name}.yaml", schema="schema.json")
        region = str(YAML(typ="safe").load(text)["region"])
        pilot = Pilot(shared_cloud, tmp_path, name, account, region)
        pilot.file.write_text(text.replace("account: null ", f'account: "{account}" '))
        if bootstrapped:
            pilot.run("bootstrap")
        return pilot

    return make


@pytest.fixture
def pilot(new_pilot: PilotFactory) -> Iterator[Pilot]:
    made = new_pilot()
    yield made
    made.admin("DELETE", "faults")
    made.admin("POST", "settings", {"settle_seconds": 5, "time_scale": 1})
