"""The environment variables of a node's container: the platform's, Batch's, and the definition's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from scripts.local_cloud import runtime
from scripts.local_cloud.accounts import SECRET, access_key
from scripts.local_cloud.batch.job import Job, Node

# All that a node gets from the machine of the user.
_INHERITED = ("LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class InitializationError(Exception):
    """The container could not be set up; the message is the reason that ECS would give."""


def build(job: Job, node: Node, directory: Path) -> dict[str, str]:
    return {
        **_platform(job, node, directory),
        **{item["name"]: item.get("value", "") for item in node.container.get("environment") or ()},
        **_secrets(job, node),
        **_batch(job, node),
    }


def _platform(job: Job, node: Node, directory: Path) -> dict[str, str]:
    """What the container's image and the ECS agent provide; the local cloud stands in for both."""
    server = runtime.current()
    venv = str(Path(sys.executable).parent)
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        **inherited,
        "PATH": os.pathsep.join([venv, os.environ.get("PATH", os.defpath)]),
        "HOME": str(directory / "work"),
        "TMPDIR": str(directory / "work" / "tmp"),
        "AWS_EXECUTION_ENV": "AWS_ECS_EC2",
        "AWS_ACCESS_KEY_ID": access_key(job.account),
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_REGION": job.region,
        "AWS_DEFAULT_REGION": job.region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "ECS_CONTAINER_METADATA_URI_V4": f"{server.endpoint_url}/neuronkit/ecs-metadata/{job.id}/{node.index}",
        "NEURONKIT_DEVICE_ROOT": str(directory / "devices"),
        "NEURONKIT_SYSFS_ROOT": str(directory / "sysfs"),
    }


def _batch(job: Job, node: Node) -> dict[str, str]:
    """AWS Batch user guide, "Job environment variables" and, for several nodes, "Multi-node environment variables"."""
    variables = {
        "AWS_BATCH_JOB_ID": f"{job.id}#{node.index}" if job.definition.multinode else job.id,
        "AWS_BATCH_JOB_ATTEMPT": str(job.attempt),
        "AWS_BATCH_JQ_NAME": job.queue.name,
        "AWS_BATCH_CE_NAME": job.environment_name,
    }
    if job.definition.multinode:
        variables |= {
            "AWS_BATCH_JOB_NODE_INDEX": str(node.index),
            "AWS_BATCH_JOB_NUM_NODES": str(len(job.nodes)),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(job.main_node),
        }
        main = job.nodes[job.main_node]
        if node.index != job.main_node and main.address:
            variables["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = main.address
    return variables


def _secrets(job: Job, node: Node) -> dict[str, str]:
    return {item["name"]: _secret(job, item["valueFrom"]) for item in node.container.get("secrets") or ()}


def _secret(job: Job, reference: str) -> str:
    """`reference` is what ECS takes: a Secrets Manager ARN (`…:json-key:stage:version`), or an SSM name or ARN."""
    clients = runtime.current().clients
    try:
        if ":secretsmanager:" in reference:
            return _from_secrets_manager(clients.client("secretsmanager", job.account, job.region), reference)
        name = reference.split(":parameter", 1)[1] if ":ssm:" in reference else reference
        answer = clients.client("ssm", job.account, job.region).get_parameter(Name=name, WithDecryption=True)
        return str(answer["Parameter"]["Value"])
    except (ClientError, KeyError, ValueError) as error:
        raise InitializationError(
            "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: "
            f"unable to retrieve secret from {'asm' if ':secretsmanager:' in reference else 'ssm'}: {reference}: {error}"
        ) from error


def _from_secrets_manager(client: Any, reference: str) -> str:
    parts = reference.split(":")
    json_key, stage, version = ([*parts[7:], "", "", ""])[:3]
    chosen = {"VersionStage": stage, "VersionId": version}
    given = {name: value for name, value in chosen.items() if value}
    text = str(client.get_secret_value(SecretId=":".join(parts[:7]), **given)["SecretString"])
    return str(json.loads(text)[json_key]) if json_key else text
