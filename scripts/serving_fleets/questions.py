"""Questions to AWS of which each may be refused without the others: what is refused is noted, and said at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scripts.aws import ssm
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError, CredentialsError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Questions:
    cloud: Cloud
    refused: list[str] = field(default_factory=list)

    def ask(self, what: str, question: Callable[[], _T | None]) -> _T | None:
        """A service that cannot be reached is one question: CloudFormation has answered before."""
        try:
            return question()
        except CredentialsError:
            raise
        except AwsError as error:
            self.refused.append(f"{what}: could not be asked: {error.message}")
            return None

    def parameter(self, name: str) -> str | None:
        """None also where there is no such parameter."""
        return self.ask(f"parameter {name}", lambda: ssm.find_parameter(self.cloud, name))

    def document(self, name: str) -> dict[str, Any] | None:
        """Of a parameter that holds a JSON object."""
        text = self.parameter(name)
        if text is None:
            return None
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            self.refused.append(f"parameter {name} is not JSON of an object")
            return None
        return value
