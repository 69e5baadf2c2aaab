"""The changes to moto that the server makes once, before it answers anything."""

from __future__ import annotations

import moto.ec2.urls
import moto.iam.models
from moto.ec2.models import EC2Backend
from moto.s3.responses import S3Response

from scripts.local_cloud import ssm_parameters
from scripts.local_cloud.accounts import DEFAULT_ACCOUNT, account_of
from scripts.local_cloud.clients import SERVER_USER_AGENT
from scripts.local_cloud.ec2.service import Ec2
from scripts.local_cloud.ec2.tagged import with_more_types


def apply() -> None:
    _let_access_keys_name_accounts()
    moto.ec2.urls.url_paths = {"{0}/": Ec2.dispatch}
    EC2Backend.iter_tagged_resources = with_more_types(  # type: ignore[method-assign]
        EC2Backend.iter_tagged_resources
    )
    ssm_parameters.supply_neuron_amis()
    _let_cloudformation_tag_buckets()


def _let_access_keys_name_accounts() -> None:
    def get_account_id_from(access_key: str) -> str:
        return account_of(access_key) or _account_of_role_session(access_key) or DEFAULT_ACCOUNT

    moto.iam.models.get_account_id_from = get_account_id_from


def _account_of_role_session(access_key: str) -> str | None:
    """As moto's own, but it asks only what exists: moto would make every partition's IAM, which takes seconds."""
    for account, partitions in list(moto.iam.models.iam_backends.items()):
        if any(access_key in backend.access_keys for backend in list(partitions.values())):
            return account
    return None


def _let_cloudformation_tag_buckets() -> None:
    """S3 refuses `aws:` tags from anybody but AWS's own services."""
    as_user = S3Response._bucket_tagging_from_body

    def bucket_tagging_from_body(self: S3Response) -> dict[str, str]:
        own = SERVER_USER_AGENT in self.headers.get("User-Agent", "")
        return self._tagging_from_xml() if own else as_user(self)

    S3Response._bucket_tagging_from_body = bucket_tagging_from_body  # type: ignore[method-assign]
