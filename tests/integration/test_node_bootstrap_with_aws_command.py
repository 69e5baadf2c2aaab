"""The calls of the node bootstrap through the real aws command, against moto's S3: what the stand-in cannot prove."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.environments import plan_of
from tests.integration.bootstrap_node import BUCKET, World

pytestmark = [pytest.mark.local_cloud, pytest.mark.timeout(120)]

JOB = """
echo "${NEURONKIT_RESUME_STEP:-none}" >"$SEEN/step"
echo '{"step": 3}' >>"$NEURONKIT_METRICS_FILE"
for step in 000003 000004; do
  mkdir -p "$NEURONKIT_CHECKPOINT_DIR/tmp-$step/shards"
  echo weights >"$NEURONKIT_CHECKPOINT_DIR/tmp-$step/shards/0"
  echo '{}' >"$NEURONKIT_CHECKPOINT_DIR/tmp-$step/checkpoint.json"
  mv "$NEURONKIT_CHECKPOINT_DIR/tmp-$step" "$NEURONKIT_CHECKPOINT_DIR/step-$step" 2>/dev/null || true
done
"""


class MotoWorld(World):
    endpoint = ""

    def client(self):  # type: ignore[no-untyped-def]
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-2",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def store(self, key: str, content: bytes) -> None:
        self.client().put_object(Bucket=BUCKET, Key=key, Body=content)

    def keys(self) -> set[str]:
        contents = self.client().list_objects_v2(Bucket=BUCKET, Prefix="runs/").get("Contents", [])
        return {entry["Key"].removeprefix("runs/smoke/") for entry in contents}


@pytest.fixture
def world(tmp_path: Path, socket_enabled: None) -> Iterator[MotoWorld]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    plan = plan_of(
        {
            "clusters.train.instance_type": "trn1.2xlarge",
            "clusters.train.nodes": 1,
            "jobs.smoke.command": ["bash", "job.sh"],
        }
    )
    world = MotoWorld(tmp_path / "world", plan)
    world.endpoint = "http://{}:{}".format(*server.get_host_and_port())
    world.hold_timers(60)
    (world.root / "bin" / "aws").unlink()
    (world.root / "bin" / "aws").symlink_to(Path(sys.executable).with_name("aws"))
    world.client().create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"})
    yield world
    world.close()
    server.stop()


def test_a_run_and_its_retry(world: MotoWorld) -> None:
    credentials = {
        "AWS_ENDPOINT_URL": world.endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HOME": str(world.root),
    }
    code, log = world.run(JOB, variables=credentials)
    assert code == 0, log
    checkpoints = {
        f"checkpoints/step-00000{step}/{name}" for step in (3, 4) for name in ("checkpoint.json", "shards/0")
    }
    assert world.keys() == {f"run-1/{name}" for name in {"metrics.jsonl", *checkpoints}}

    code, log = world.run(JOB, variables=credentials)
    assert ((world.seen / "step").read_text(), code) == ("4\n", 0), log

    body = world.client().get_object(Bucket=BUCKET, Key="runs/smoke/run-1/metrics.jsonl")["Body"].read()
    assert body == b'{"step": 3}\n{"step": 3}\n'
