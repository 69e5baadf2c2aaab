"""Which operations of which services scripts/aws calls, read from its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore import xform_name
from botocore.model import OperationModel

_AWS = Path(__file__).resolve().parents[3] / "scripts" / "aws"
_SERVICE = re.compile(
    r"(?:^_SERVICE(?:: Final)? = |\b(?:call|call_once|pages)\(\s*)\"([a-z0-9-]+)\"", re.MULTILINE
)
_WORD = re.compile(r"\"([a-z]+(?:_[a-z0-9]+)+|invoke)\"")


def called_operations(session: Any) -> Iterator[tuple[str, str, OperationModel]]:
    """Service, operation in boto3's spelling, and its model. A file names the services and the operations that it calls
    as strings; some operations of a table's may be those of another service, too, with the same name.
    """
    known = set(session.get_available_services())
    for path in sorted(_AWS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        services = set(_SERVICE.findall(text)) & known or ({"ecs"} if "ecs.described" in text else set())
        for service in sorted(services):
            model = session.get_service_model(service)
            by_name = {xform_name(name): name for name in model.operation_names}
            for word in sorted(set(_WORD.findall(text)) & set(by_name)):
                yield service, word, model.operation_model(by_name[word])
