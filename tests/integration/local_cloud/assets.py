"""The archives that templates refer to, in a bucket of the local cloud, as `cdk deploy` would put them there."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import boto3


def publish(session: boto3.Session, directory: Path, stack: str, synthesized_for: str) -> None:
    """Those of one stack of an assembly, which was made for another account than the session's."""
    manifest = directory / f"{stack}.assets.json"
    s3 = session.client("s3")
    account = session.client("sts").get_caller_identity()["Account"]
    for entry in json.loads(manifest.read_text())["files"].values():
        if entry["source"]["packaging"] != "zip":
            continue
        for destination in entry["destinations"].values():
            bucket = destination["bucketName"].replace(synthesized_for, account)
            if bucket not in [one["Name"] for one in s3.list_buckets()["Buckets"]]:
                s3.create_bucket(
                    Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": session.region_name}
                )
            s3.put_object(
                Bucket=bucket, Key=destination["objectKey"], Body=_zip(directory / entry["source"]["path"])
            )


def _zip(folder: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                file.write(path, str(path.relative_to(folder)))
    return archive.getvalue()
