"""What changes AWS is called in scripts/aws only: everything else decides, reads, and asks these files to act."""

from __future__ import annotations

import re
from pathlib import Path

import botocore.session

ROOT = Path(__file__).resolve().parents[3]
ELSEWHERE = [
    path
    for folder in ("scripts", "stacks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"aws", "local_cloud", "payload"} & set(path.relative_to(ROOT).parts)
]
CALL = re.compile(r"\.(?:call|call_once|pages)\(\s*[\"'][\w-]+[\"'],\s*[\"'](\w+)")
READS = ("describe_", "list_", "get_", "head_")


def test_nothing_else_makes_a_client_or_a_call_that_changes_something() -> None:
    assert len(ELSEWHERE) > 40
    for path in ELSEWHERE:
        text = path.read_text(encoding="utf-8")
        assert ".client(" not in text, path
        changing = [name for name in CALL.findall(text) if not name.startswith(READS)]
        assert changing == [], path


def test_every_operation_that_is_called_exists() -> None:
    """A misspelt one would only be found by the branch that calls it."""
    from botocore import xform_name

    session = botocore.session.get_session()
    services = ("batch", "cloudformation", "ec2", "ecr", "ecs", "kms", "logs", "s3", "ssm", "sts")
    for service in services:
        text = (ROOT / "scripts" / "aws" / f"{service}.py").read_text(encoding="utf-8")
        known = {xform_name(name) for name in session.get_service_model(service).operation_names}
        called = set(
            re.findall(r"cloud\.(?:call|call_once|pages)\(\s*(?:_SERVICE|\"\w+\"),\s*\"(\w+)\"", text)
        )
        assert called, service
        assert called <= known, service
