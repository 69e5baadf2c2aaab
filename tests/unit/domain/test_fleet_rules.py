"""Rules of fleets beyond their rows: what they say, what they leave to others, times that must agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Fleet
from stacks.domain.findings import Finding
from stacks.domain.fleet_plan import DEREGISTRATION_MAX_SECONDS, IDLE_TIMEOUT_MAX_SECONDS, times_of
from stacks.domain.live import LiveFacts
from stacks.domain.plan import make_plan
from stacks.domain.render.engines import compile_container, engine_container, fallback_container
from stacks.domain.rules import not_checked, run_rules
from stacks.domain.rules.fleet_engines import KIT_VARIABLES, RESERVED_PREFIXES
from stacks.domain.rules.fleet_software import RECOMMENDED_AMI
from tests.environments import changed, loaded, plan_of
from tests.unit.domain.fleet_cases import ALONE, BERT, BLOCK, GPU, LLAMA, custom, encoder, fleet, large, trn2

NEWER = (
    "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.29.0.1.2.0-neuronx-py314-sdk2.33.0-ubuntu26.04"
)


def found(changes: dict[str, Any], rule_id: str) -> list[Finding]:
    findings = run_rules(loaded(changed(changes), Path()), load_catalog())
    return [finding for finding in findings if finding.id == rule_id]


def test_a_refused_ami_comes_with_the_dates_that_work() -> None:
    (finding,) = found({**ALONE, **fleet(), "software": {"ami": RECOMMENDED_AMI}}, "NK721")
    assert "2.30.51" in finding.message
    assert "an AMI dated 20260307 to 20260701" in finding.fix
    assert "20260701-kernel-6.1-x86_64/image_id" in finding.fix


def test_each_fleet_has_its_ami_when_the_file_names_none() -> None:
    plan = plan_of({**ALONE, **fleet(), "fleets.encode": encoder()["fleets.chat"]})
    drivers = {f.name: f.ami.driver for f in plan.fleets if f.ami}
    assert drivers == {"chat": "2.26", "encode": "2.29"}


def test_one_ami_for_an_llm_and_an_encoder_fails_for_the_llm_alone() -> None:
    both = {**ALONE, **fleet(), "fleets.encode": encoder()["fleets.chat"]}
    (finding,) = found({**both, "software": {"ami": RECOMMENDED_AMI}}, "NK721")
    assert "fleet chat" in finding.message


def test_what_no_source_judges_is_not_checked() -> None:
    environment = loaded(changed({**ALONE, **custom(command=["serve"])}), Path())
    plan = make_plan(environment.environment, None, load_catalog())
    missing = not_checked(environment, plan, load_catalog(), LiveFacts())
    assert any(item.id == "NK721" and "fleet chat" in item.why for item in missing)


def test_the_price_of_the_second_instance_is_unknown_where_its_price_is() -> None:
    zero = {"replicas": {"minimum": 0, "maximum": 2}, "scale_to_zero": {"idle_minutes": 60}}
    (unknown,) = found({**ALONE, **fleet(**zero)}, "NK715")
    assert "not known (no on-demand price in us-east-2)" in unknown.message
    virginia = {"region": "us-east-1", "network.zone_id": "use1-az6"}
    (known,) = found({**ALONE, **virginia, **fleet(**zero)}, "NK715")
    assert f"${1.96786 / 4:.2f}" in known.message


def test_warnings_of_fleets_can_be_accepted() -> None:
    block = {**ALONE, **BLOCK, **trn2()}
    (warned,) = found(block, "NK702")
    assert not warned.accepted_because
    reason = "the pilot ends with the block"
    suppress = [{"rule": "NK702", "reason": reason, "path": "fleets.chat"}]
    (accepted,) = found({**block, "suppress": suppress}, "NK702")
    assert accepted.accepted_because == reason


def test_public_without_authentication_is_forced_by_the_files_reason_only() -> None:
    public = {**fleet(listener={"public": True})}
    suppress = [{"rule": "NK733", "reason": "just let it through"}]
    assert found({**public, "suppress": suppress}, "NK297")
    (finding,) = found({**public, "suppress": suppress}, "NK733")
    assert not finding.accepted_because


@pytest.mark.parametrize(
    "changes",
    [
        fleet(),
        large(replicas={"minimum": 3, "maximum": 3}),
        trn2(compile_on="cpu", fallback=GPU, logical_core_size=2),
        trn2(image=NEWER),
        encoder(),
        custom(command=["serve"]),
        fleet(fallback={**GPU, "instance_type": "g6e.48xlarge", "gpus_per_replica": 8}),
    ],
)
def test_every_variable_of_the_kits_own_is_reserved(changes: dict[str, Any]) -> None:
    """A file's value for one would be lost without a word."""
    plan = plan_of({**ALONE, **changes})
    (chat,) = plan.fleets
    containers = [engine_container(plan, chat, chat.slices[0])]
    compiling = compile_container(plan, chat)
    containers += [compiling] if compiling else []
    containers += [fallback_container(plan, chat)] if chat.fallback else []
    names = {name for container in containers for name, _ in container.environment}
    assert {n for n in names if not n.startswith(RESERVED_PREFIXES)} <= KIT_VARIABLES


def fleet_of(**settings: Any) -> Fleet:
    base = {"instance_type": "inf2.8xlarge", "capacity": "hourly", "engine": "vllm-nxdi", "model": LLAMA}
    return Fleet.model_validate({**base, **settings})


@given(
    longest=st.integers(1, 3600),
    first=st.integers(1, 3600),
    engine=st.sampled_from(["vllm-nxdi", "vllm-neuron", "encoder", "custom"]),
    artifacts=st.sampled_from(["efs", "none"]),
    compile_on=st.sampled_from(["cpu", "neuron", "start"]),
)
def test_times_agree_whatever_the_file_asks(
    longest: int, first: int, engine: str, artifacts: str, compile_on: str
) -> None:
    times = times_of(
        fleet_of(
            longest_request_seconds=longest,
            first_token_seconds=first,
            engine=engine,
            model=BERT,
            artifacts=artifacts,
            compile_on=compile_on,
        )
    )
    assert max(longest, first) <= times.idle_timeout <= IDLE_TIMEOUT_MAX_SECONDS
    assert times.keep_alive > times.idle_timeout
    assert longest <= times.deregistration_delay <= DEREGISTRATION_MAX_SECONDS
    assert times.stop >= times.shutdown + 30
    assert times.grace >= times.start_high >= times.start_low > 0
    assert times.scale_out_cooldown >= times.start_high
