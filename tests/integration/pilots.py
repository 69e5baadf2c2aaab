"""An environment on the local cloud, driven by the `neuronkit` command as a user drives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from scripts.local_cloud.accounts import access_key
from scripts.local_cloud.process import LocalCloud

NEURONKIT = str(Path(sys.executable).with_name("neuronkit"))
SECONDS_MAX = 280


@dataclass(frozen=True)
class Pilot:
    """`name` is the environment's; every pilot of a test run has an account of its own."""

    cloud: LocalCloud
    directory: Path
    name: str
    account: str
    region: str

    @property
    def file(self) -> Path:
        return self.directory / f"{self.name}.yaml"

    @property
    def stacks(self) -> list[str]:
        return [f"{self.name}-network", f"{self.name}-storage", f"{self.name}-cluster-train"]

    def run(self, verb: str, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """`neuronkit --local VERB FILE ARGUMENTS` (a VERB may be two words); fails the test when the exit code is another."""
        done = subprocess.run(
            self.command(verb, *arguments),
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
        )
        if code is not None:
            assert done.returncode == code, (
                f"{verb} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(verb, *arguments),
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def json(self, verb: str, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(verb, *arguments, "--json", code=code).stdout)

    def command(self, verb: str, *arguments: str) -> list[str]:
        return [NEURONKIT, "--local", *verb.split(), str(self.file), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "NEURONKIT_LOCAL_CLOUD_DIR": str(self.cloud.state_dir)}

    def client(self, service: str) -> Any:
        return self.session.client(service)

    @property
    def session(self) -> boto3.Session:
        session = boto3.Session(
            aws_access_key_id=access_key(self.account), aws_secret_access_key="local", region_name=self.region
        )
        make = session.client
        session.client = lambda service, **more: make(service, endpoint_url=self.cloud.endpoint_url, **more)  # type: ignore[method-assign]
        return session

    def admin(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(
            f"{self.cloud.endpoint_url}/neuronkit/{path}", data=data, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def stack_states(self) -> dict[str, str]:
        pages = self.client("cloudformation").get_paginator("describe_stacks").paginate()
        return {stack["StackName"]: stack["StackStatus"] for page in pages for stack in page["Stacks"]}
