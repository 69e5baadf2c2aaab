"""Reads a template from the S3 URL that a client gives: path style (localhost) or virtual-hosted."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlparse

from botocore.exceptions import ClientError

from scripts.local_cloud.cloudformation.template import TemplateError

_VIRTUAL_HOST = re.compile(r"(?P<bucket>.+?)\.(s3[.-]|localhost$)")


def bucket_and_key(url: str) -> tuple[str, str]:
    parsed = urlparse(url)
    path = unquote(parsed.path).lstrip("/")
    host = _VIRTUAL_HOST.match(parsed.hostname or "")
    if host:
        return host.group("bucket"), path
    bucket, _, key = path.partition("/")
    return bucket, key


def fetch(url: str, s3: Any) -> str:
    bucket, key = bucket_and_key(url)
    try:
        body: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        raise TemplateError(f"S3 error: {error.response['Error']['Message']} ({url})") from error
    return body.decode()
