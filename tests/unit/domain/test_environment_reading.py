"""What is wrong with a file's text and shape is said all at once, with places and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.loading import check
from stacks.domain.environment import read
from stacks.domain.environment.source import format_path, parse
from stacks.domain.findings import FindingsError
from tests.environments import REMOVED, changed
from tests.unit.domain.fleet_cases import BROUGHT, SUBNETS
from tests.unit.domain.shift_cases import day, with_windows


def window(**more: object) -> dict[str, object]:
    return with_windows(dict(more))


def texts_of(content: str | bytes, directory: Path) -> list[str]:
    file = directory / "e.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        return [f.text().replace(str(file), "e.yaml") for f in check(file).findings]
    except FindingsError as error:
        return [f.text().replace(str(file), "e.yaml") for f in error.findings]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "e.yaml: empty"),
        (b" \n\n", "e.yaml: empty"),
        (b"# nothing\n", "e.yaml: empty: only comments"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "e.yaml: not UTF-8 text"),
        (b"a\x00b", "e.yaml: binary"),
        (b"- a\n- b\n", "e.yaml:1:1: a list given"),
        (b"just words\n", "e.yaml:1:1: a single value given"),
        (b"a:\n\tb: 1\n", "e.yaml:2:1: a tab"),
        (b"a: {b\n", "e.yaml:1:4: not YAML"),
        (b'a: 1\nb: "c\n\n', "e.yaml:2:4: not YAML"),
        (b"%YAML 1.1\n---\na: 1\n", "the directive %YAML 1.1"),
        (b"a: 1\n---\nb: 1\n", "2 documents given"),
        (b"b: 1\na: &a [*a]\n", "e.yaml:2:4: nested too deeply"),
        (b"a: \x07\n", "a character that YAML does not allow (U+0007)"),
        (b"a: " + b"[" * 5000, "nested too deeply"),
        (b"a: " + b"x" * 1_100_000, "at most 1,000,000 bytes are read"),
    ],
)
def test_text_that_is_no_environment(content: bytes, expected: str, tmp_path: Path) -> None:
    found = texts_of(content, tmp_path)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("owner: team", "owner: team\nowner: team", "e.yaml:5:1 owner: key 'owner' twice given"),
        ("owner: team", "owner: !!python/object:os.system x", "e.yaml:4:8 owner: tag"),
        ("owner: team", "[a]: 1\nowner: team", "a plain word as key"),
        ("owner: team", 'owner: "a\\0b"', "e.yaml:4:8 owner: the character U+0000"),
        ("owner: team", 'owner: "\\ud800"', "e.yaml:4:8 owner: the character U+D800"),
        ("owner: team", 'owner: team\n"\\ud800": 1', "e.yaml:5:1: the character U+D800"),
        ("owner: team", "owner: !!bool maybe", "e.yaml:4:8 owner: tag"),
        ("lifetime_days: 7", 'lifetime_days: !!int ""', "lifetime_days: tag"),
        ("lifetime_days: 7", "lifetime_days: " + "1" * 5000, "lifetime_days: a number of 5,000 digits"),
        ("jobs:", "jobs: !mine", "jobs: tag !mine"),
        ("network:\n", "network: &a\n  <<: *a\n", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_hides_nothing_else(
    before: str, after: str, expected: str, tmp_path: Path
) -> None:
    text = changed({"region": "mars"}).replace(before, after, 1)
    found = texts_of(text, tmp_path)
    assert any(expected in text for text in found), found
    assert len({text for text in found if "region" in text}) == (0 if "deeply" in expected else 1)


def test_a_pipe_is_read_no_further_than_needed(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as caught:
        check(Path("/dev/zero"))
    assert "NK004" in caught.value.findings[0].text()


def test_an_empty_value_is_placed_at_its_key(tmp_path: Path) -> None:
    text = changed({}).replace("region: us-east-2", "region:")
    assert any(found.startswith("e.yaml:2:1 region: nothing given") for found in texts_of(text, tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"jobs.smoke.environment": {"HF_TOKEN": 20241130}},
        {"jobs.smoke.environment": "HF_TOKEN=20241130"},
        {"jobs.smoke.environment": ["HF_TOKEN=20241130"]},
        {"jobs.smoke.secrets": {"HF_TOKEN": "20241130"}},
        {"jobs.smoke.secrets": {"HF_TOKEN": 20241130}},
        {"fleets.chat.environment": {"HF_TOKEN": 20241130}},
        {"fleets.chat.environment": ["HF_TOKEN=20241130"]},
        {"fleets.chat.secrets": {"HF_TOKEN": "20241130"}},
        {"fleets.chat.model": {"token": "20241130"}},
        {"fleets.chat.model": {"token": 20241130}},
        {"fleets.chat.engine_arguments": "--api-key 20241130"},
        {"jobs.smoke.command": "train --password 20241130"},
        {"jobs.smoke.command": "WANDB_API_KEY=20241130 train"},
        {"owner": 1, "jobs.smoke.source": "https://me:20241130@example.com/x"},
        {"region": "hf_20241130aaaaaaaaaaaaaaaaaaaa"},
        {"password": "20241130"},
    ],
)
def test_no_finding_shows_a_secret(changes: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(changed(changes))
    try:
        findings = check(file).findings
    except FindingsError as error:
        findings = error.findings
    assert findings
    assert all("20241130" not in f.text() + str(f.as_dict()) for f in findings)


@pytest.mark.parametrize("changes", [{"owner": 1, "a\nb\x1b[31m": 1}, {"region": "x\u202ey\r\nz"}])
def test_a_finding_is_one_printable_line(changes: dict[str, object], tmp_path: Path) -> None:
    assert all(text.isprintable() for text in texts_of(changed(changes), tmp_path))


def test_a_long_value_is_cut_short(tmp_path: Path) -> None:
    found = texts_of(changed({"region": "x" * 100_000}), tmp_path)
    assert all(len(text) < 500 for text in found)


def test_a_file_that_is_not_there_or_a_directory(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none.yaml", "no such file"), (tmp_path, "a directory")):
        with pytest.raises(FindingsError) as caught:
            check(path)
        assert words in caught.value.findings[0].text()


def test_bom_and_crlf_are_read(tmp_path: Path) -> None:
    text = changed({}).replace("\n", "\r\n")
    assert texts_of(b"\xef\xbb\xbf" + text.encode(), tmp_path) == []


def test_billion_laughs_end_in_a_finding(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "aliases count each time" in texts_of("\n".join(lines), tmp_path)[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"regoin": "x"}, "regoin: unknown key 'regoin' given; allowed: name, region"),
        ({"clusters.train.node": 4}, "did you mean 'nodes'? [NK101]"),
        ({"clusters.train.nodes": "four"}, "clusters.train.nodes: 'four' given"),
        ({"clusters.train.nodes": "4"}, "write 4 without quotes"),
        ({"clusters.train.nodes": -1}, "clusters.train.nodes: -1 given; allowed: how many instances"),
        ({"clusters.train.nodes": 2.5}, "clusters.train.nodes: 2.5 given"),
        ({"clusters.train.nodes": True}, "clusters.train.nodes: true given"),
        ({"clusters.train.root_volume_gib": "512 GB"}, "write 512 without quotes or units"),
        ({"lifetime_days": "two weeks"}, "lifetime_days: 'two weeks' given; allowed: days"),
        ({"budget_usd": 0}, "budget_usd: 0 given"),
        ({"budget_usd": True}, "budget_usd: true given"),
        ({"budget_usd": "50"}, "write 50 without quotes"),
        ({"budget_usd": "50.5 USD"}, "write 50.5 without quotes or units"),
        ({"budget_usd": float("inf")}, "budget_usd: .inf given"),
        ({"budget_usd": float("nan")}, "budget_usd: .nan given"),
        ({"budget_usd": 10**400}, "budget_usd: 1000"),
        ({"lifetime_days": "2.5 days"}, "write a number in digits"),
        ({"lifetime_days": "2026-10-01"}, "write a number in digits"),
        ({"lifetime_days": 7.0}, "write a whole number"),
        ({"lifetime_days": None}, "write a value [NK103]"),
        ({"tags": None}, "write a value, or leave the key out [NK103]"),
        ({"clusters": None}, "clusters: nothing given; allowed: a mapping of names to entries"),
        ({"capacity": None}, "capacity: nothing given; allowed: a mapping of names to entries"),
        ({"clusters.train.logical_core_size": True}, "logical_core_size: true given"),
        ({"clusters.train.placement_group": True}, "did you mean 'yes'? [NK104]"),
        ({"clusters.train.efa": False}, "did you mean 'off'? [NK104]"),
        ({"clusters.a": {}}, "a name of 2 to 30 of a-z"),
        ({"account": "１１１１２２２２３３３３"}, "the 12-digit account id"),
        ({"jobs.smoke.command": [1]}, "jobs.smoke.command[0]: 1 given; allowed: text; put it in quotes"),
        ({"jobs.smoke.data": "s3://..../x"}, "s3://bucket/prefix"),
        ({"jobs.smoke.data": "s3://bucket/*"}, "s3://bucket/prefix"),
        ({"jobs.smoke.secrets": {"T": None}}, "jobs.smoke.secrets.T: nothing given"),
        (
            {"jobs.smoke.secrets": {"T": "arn:aws:secretsmanager:us-east-2:111122223333:secret:*"}},
            "jobs.smoke.secrets.T: a plain value given",
        ),
        ({"software.images": {"jax": "r.example/x@sha256:12"}}, "an image with a tag or digest"),
        ({"software.images": {"jax": "r.example/x:$(date)"}}, "an image with a tag or digest"),
        ({"network.<<": {"vpc": "new"}}, "YAML 1.2 merges no mappings"),
        ({"account": 123456789012}, "put it in quotes [NK103]"),
        ({"account": "12"}, "account: '12' given; allowed: the 12-digit account id"),
        ({"name": "My Pilot"}, "name: 'My Pilot' given"),
        ({"network.zone_id": "us-east-2a"}, "zone letters are not"),
        ({"capacity.hourly.id": ""}, "capacity.hourly.id: '' given"),
        ({"clusters": ["train"]}, "clusters: a list given; allowed: a mapping"),
        ({"clusters": {}}, "no clusters and no fleets given"),
        (
            {"jobs.smoke.command": "python3 train.py"},
            "jobs.smoke.command: 'python3 train.py' given; allowed: a list",
        ),
        ({"jobs.smoke.command": []}, "jobs.smoke.command: a list given"),
        ({"jobs.smoke.framework": "pytorch"}, "allowed: jax or torch-neuronx"),
        ({"jobs.smoke.secrets": {"T": "hf_secret"}}, "jobs.smoke.secrets.T: a plain value given"),
        ({"jobs.smoke.environment": {"1X": "a"}}, "no digit first"),
        ({"jobs.smoke.environment": {"X": 1}}, "put it in quotes"),
        ({"software.images": {"tensorflow": "a/b:c"}}, "'tensorflow' given; allowed: jax or torch-neuronx"),
        ({"software.ami": "latest"}, "software.ami: 'latest' given; allowed: auto, an AMI id"),
        ({"fleets.chat.secrets": {"T": "hf_secret"}}, "store the value in Secrets Manager"),
        ({"fleets.chat.model": {"token": "hf_secret"}}, "store the value in Secrets Manager"),
        (
            {"fleets.chat.token_buckets": ["a"]},
            "token_buckets[0]: 'a' given; allowed: a whole number; write a number in digits",
        ),
        (
            {"network.load_balancer_subnet_ids": ["x"]},
            "load_balancer_subnet_ids[0]: 'x' given; allowed: with a VPC of yours",
        ),
        (
            {"suppress": [{"rule": "219", "reason": "because we may"}]},
            "suppress[0].rule: '219' given; allowed: a rule's id",
        ),
        (
            {"suppress": [{"rul": "NK219"}]},
            "suppress[0].rul: unknown key 'rul' given; allowed: rule, reason or path; did you mean",
        ),
        ({"suppress": ["NK219"]}, "suppress[0]: 'NK219' given; allowed: a mapping with the keys rule"),
        (window(start="24:00"), "windows[0].start: '24:00' given; allowed: HH:MM"),
        (
            window(days=["monday"]),
            "windows[0].days[0]: 'monday' given; allowed: mon, tue, wed, thu, fri, sat or sun; did you mean 'mon'?",
        ),
        (window(days=[]), "windows[0].days: a list given; allowed: a list of mon"),
        (window(replicas=0), "windows[0].replicas: 0 given; allowed: replicas that the fleet may have"),
        (
            window(ends="18:00"),
            "windows[0].ends: unknown key 'ends' given; allowed: days, start, end or replicas; did you mean 'end'?",
        ),
    ],
)
def test_shape(changes: dict[str, object], expected: str, tmp_path: Path) -> None:
    found = texts_of(changed(changes), tmp_path)
    assert any(expected in text for text in found), found
    assert all("hf_secret" not in text for text in found)


def test_shape_and_meaning_are_found_in_one_run(tmp_path: Path) -> None:
    changes = {
        "ownr": "x",
        "clusters.train.instance_type": "inf2.4xlarge",
        "clusters.train.node": 4,
        "jobs.smoke.time_limit_minutes": "long",
        "network.zone_id": "use1-az6",
        "budget_usd": -1,
    }
    ids = {text.rpartition("[")[2].rstrip("]") for text in texts_of(changed(changes), tmp_path)}
    assert ids == {"NK101", "NK103", "NK106", "NK202", "NK204"}


def test_an_unknown_key_in_an_entry_of_a_wrong_name(tmp_path: Path) -> None:
    found = texts_of(changed({"clusters.Bad_Name": {"node": 1}}), tmp_path)
    assert any("unknown key 'node'" in text for text in found)
    assert any("'Bad_Name' given" in text for text in found)


def test_a_name_that_was_never_there_is_found_beside_a_wrong_shape(tmp_path: Path) -> None:
    changes = {"owner": 1, "clusters.train.capacity": "horly", "jobs.smoke.cluster": "trian"}
    found = texts_of(changed(changes), tmp_path)
    assert {text[-7:] for text in found} == {"[NK103]", "[NK210]", "[NK230]"}


@pytest.mark.parametrize(
    "changes",
    [
        {"clusters.train.scheduler": "pbs"},
        {"capacity.hourly.kind": "cheap"},
        {"clusters.train.scheduler": "pbs", "shifts.day.replicas_floor": 1},
        {"fleets.chat.engine": "triton"},
        {"fleets.chat.tensor_parallel": "eight"},
        {"fleets.chat.fallback": {"instance_type": "g6e.xlarge", "capacity": "hourly", "mode": "x"}},
        {"capacity.other": {"kind": "cheap"}, "fleets.chat.fallback": {"instance_type": "g6e.xlarge", "capacity": "other"}},
        {"shifts.day.timezone": 1},
        {"shifts.day.windows": [{"days": ["mon"], "start": "7", "end": "20:00", "replicas": 8}]},
        {"fleets.chat.engine": "triton", **{f"network.{key}": value for key, value in {**BROUGHT, "load_balancer_subnet_ids": SUBNETS}.items()}},
    ],
)  # fmt: skip
def test_nothing_is_blamed_on_what_the_kit_took_out(changes: dict[str, object], tmp_path: Path) -> None:
    found = texts_of(changed({**day(), **changes}), tmp_path)
    assert len(found) == 1, found
    assert found[0][-7:] in ("[NK103]", "[NK104]", "[NK105]")


def test_a_fleet_without_a_key_hides_nothing_else(tmp_path: Path) -> None:
    found = texts_of(changed({**day(), "fleets.chat.engine": REMOVED, "region": "mars"}), tmp_path)
    assert {text[-7:] for text in found} == {"[NK102]", "[NK201]"}


def test_format_path() -> None:
    assert format_path(("jobs", "a", "command", 0)) == "jobs.a.command[0]"
    assert format_path(()) == ""


def outcome(text: str) -> object:
    """An environment, or findings; anything else escapes."""
    try:
        return read(parse(text, "e.yaml"))
    except FindingsError as error:
        return error.findings


@given(st.text(max_size=300))
def test_any_text_ends_in_findings_or_an_environment(text: str) -> None:
    assert outcome(text)


@given(st.binary(max_size=300))
def test_any_bytes_end_in_findings(content: bytes) -> None:
    assert outcome(content.decode("utf-8", errors="replace"))
