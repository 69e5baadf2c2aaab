"""A model's files, fetched once to where the replicas share them; the others wait.

The Neuron images have boto3 and the aws command (aws-neuron/deep-learning-containers@2be9ed1, Dockerfiles of vllm 0.13
and 0.24 and of pytorch inference 2.9); huggingface_hub comes with vLLM. Of other images nothing is known: what is
missing is said.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from engine.one_at_a_time import one_at_a_time
from engine.refusal import RefusalError, say

COMPLETE = ".neuronkit-complete"
UNUSED = ["original/*", "*.gguf"]
"""In repositories of Hugging Face: the same weights again, which the engines do not read."""


def fetch_model(source: str, revision: str | None, directory: Path, wait_seconds: float) -> Path:
    """Whole or not at all: the directory appears when every file is there."""
    if (directory / COMPLETE).exists():
        return directory
    lock = directory.parent / f".{directory.name}.lock"
    with one_at_a_time(lock, f"the model {source}", wait_seconds):
        if not (directory / COMPLETE).exists():
            _fetch(source, revision, directory)
    return directory


def _fetch(source: str, revision: str | None, directory: Path) -> None:
    partial = directory.parent / f".{directory.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    say(f"fetching {source}")
    if source.startswith("hf:"):
        _from_hugging_face(source[len("hf:") :], revision, partial)
    else:
        bucket, prefix = place_in_s3(source)
        _from_s3(bucket, prefix, partial)
    if not any(partial.rglob("*")):
        raise RefusalError(f"{source} has no files: look at its name and at what this task may read")
    (partial / COMPLETE).touch()
    shutil.rmtree(directory, ignore_errors=True)
    partial.rename(directory)
    say(f"fetched {source}")


def place_in_s3(source: str) -> tuple[str, str]:
    """Bucket and prefix, the prefix with a slash at its end: llama must not match llama-2."""
    if source.startswith("bucket:"):
        bucket = os.environ.get("NEURONKIT_BUCKET", "")
        if not bucket:
            raise RefusalError(f"{source} is in the environment's bucket, but NEURONKIT_BUCKET is not set")
        prefix = source[len("bucket:") :]
    else:
        bucket, _, prefix = source[len("s3://") :].partition("/")
    return bucket, f"{prefix.strip('/')}/"


def _from_hugging_face(repository: str, revision: str | None, directory: Path) -> None:
    hub = _module("huggingface_hub")
    if hub is None:
        raise RefusalError(
            "the image has no huggingface_hub: put the model into the bucket and write bucket:PREFIX"
        )
    try:
        hub.snapshot_download(
            repository,
            revision=revision,
            local_dir=str(directory),
            token=os.environ.get("HF_TOKEN") or None,
            ignore_patterns=UNUSED,
        )
    except Exception as error:  # whatever the library raises, the operator needs its words
        raise RefusalError(
            f"Hugging Face did not give {repository}: {type(error).__name__}: {error}"
        ) from error


def _from_s3(bucket: str, prefix: str, directory: Path) -> None:
    boto3 = _module("boto3")
    if boto3 is not None:
        _with_boto3(boto3, bucket, prefix, directory)
    elif shutil.which("aws"):
        _with_command(bucket, prefix, directory)
    else:
        raise RefusalError("the image has neither boto3 nor the aws command: it cannot read a bucket")


def _with_boto3(boto3: Any, bucket: str, prefix: str, directory: Path) -> None:
    client = boto3.client("s3")
    try:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", ()):
                _download(client, bucket, found["Key"], directory, prefix)
    except RefusalError:
        raise
    except Exception as error:  # botocore is not imported here
        raise RefusalError(
            f"s3://{bucket}/{prefix} cannot be read: {type(error).__name__}: {error}"
        ) from error


def _download(client: Any, bucket: str, key: str, directory: Path, prefix: str) -> None:
    if key.endswith("/"):
        return
    path = (directory / key[len(prefix) :]).resolve()
    if directory.resolve() not in path.parents:
        raise RefusalError(f"s3://{bucket}/{key} would be written outside of the model's directory")
    path.parent.mkdir(parents=True, exist_ok=True)
    client.download_file(bucket, key, str(path))


def _with_command(bucket: str, prefix: str, directory: Path) -> None:
    place = f"s3://{bucket}/{prefix}"
    words = ["aws", "s3", "cp", "--recursive", "--only-show-errors", place, str(directory)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RefusalError(f"{place} cannot be read: {ended.stderr.strip()[-500:]}")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
