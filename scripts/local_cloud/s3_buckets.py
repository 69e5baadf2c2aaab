"""Two ways in which moto's buckets differ from S3's."""

from __future__ import annotations

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket
from moto.s3.responses import S3Response

from scripts.local_cloud.clients import SERVER_USER_AGENT


def let_cloudformation_tag() -> None:
    """S3 refuses `aws:` tags from anybody but AWS's own services."""
    as_user = S3Response._bucket_tagging_from_body

    def bucket_tagging_from_body(self: S3Response) -> dict[str, str]:
        own = SERVER_USER_AGENT in self.headers.get("User-Agent", "")
        return self._tagging_from_xml() if own else as_user(self)

    S3Response._bucket_tagging_from_body = bucket_tagging_from_body  # type: ignore[method-assign]


def pass_over_conditional_statements() -> None:
    """moto takes "deny what is not TLS" for "deny everything". Loopback stands in for TLS, so conditions are not judged."""

    def get_permission(self: FakeBucket, action: str, resource: str) -> Any:
        if self.policy is None:
            return PermissionResult.NEUTRAL
        policy = json.loads(self.policy)
        statements = policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]
        policy["Statement"] = [statement for statement in statements if not statement.get("Condition")]
        return IAMPolicy(json.dumps(policy)).is_action_permitted(action, resource)

    FakeBucket.get_permission = get_permission  # type: ignore[method-assign]
