"""An account with what Batch needs to run something: network, roles, an environment, a queue."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import boto3

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}],
}
FINAL = ("SUCCEEDED", "FAILED")


@dataclass
class BatchWorld:
    session: boto3.Session
    batch: Any = field(init=False)
    environment: str = field(init=False)
    queue: str = field(init=False)
    logs: Any = field(init=False)

    def __post_init__(self) -> None:
        self.batch = self.session.client("batch")
        self.environment = self.make_environment("kit-env")
        self.logs = self.session.client("logs")
        self.queue = self.make_queue("kit-queue", self.environment)

    def make_environment(self, name: str, **resources: Any) -> str:
        ec2, iam = self.session.client("ec2"), self.session.client("iam")
        profiles = [item["InstanceProfileName"] for item in iam.list_instance_profiles()["InstanceProfiles"]]
        if "nodes" not in profiles:
            iam.create_role(RoleName="nodes", AssumeRolePolicyDocument=json.dumps(_TRUST))
            iam.create_instance_profile(InstanceProfileName="nodes")
        subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        given = {
            "type": "EC2",
            "minvCpus": 0,
            "maxvCpus": 512,
            "instanceTypes": ["trn1.32xlarge"],
            "instanceRole": "nodes",
            "subnets": [subnet],
            **resources,
        }
        answer = self.batch.create_compute_environment(
            computeEnvironmentName=name, type="MANAGED", computeResources=given
        )
        return str(answer["computeEnvironmentArn"])

    def make_queue(self, name: str, environment: str, **options: Any) -> str:
        order = [{"order": 1, "computeEnvironment": environment}]
        answer = self.batch.create_job_queue(
            jobQueueName=name, priority=1, computeEnvironmentOrder=order, **options
        )
        return str(answer["jobQueueArn"])

    def container(self, *command: str, **more: Any) -> dict[str, Any]:
        requirements = [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "4096"}]
        return {
            "image": "public.ecr.aws/kit:1",
            "command": list(command),
            "resourceRequirements": requirements,
            **more,
        }

    def register(self, name: str, container: dict[str, Any], **options: Any) -> str:
        answer = self.batch.register_job_definition(
            jobDefinitionName=name, type="container", containerProperties=container, **options
        )
        return str(answer["jobDefinitionArn"])

    def register_nodes(self, name: str, num_nodes: int, container: dict[str, Any], **options: Any) -> str:
        answer = self.batch.register_job_definition(
            jobDefinitionName=name,
            type="multinode",
            nodeProperties={
                "numNodes": num_nodes,
                "mainNode": 0,
                "nodeRangeProperties": [{"targetNodes": f"0:{num_nodes - 1}", "container": container}],
            },
            **options,
        )
        return str(answer["jobDefinitionArn"])

    def submit(self, definition: str, queue: str | None = None, **options: Any) -> str:
        answer = self.batch.submit_job(
            jobName=options.pop("jobName", "run-1"),
            jobQueue=queue or self.queue,
            jobDefinition=definition,
            **options,
        )
        return str(answer["jobId"])

    def job(self, job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = self.batch.describe_jobs(jobs=[job_id])["jobs"][0]
        return job

    def wait(self, job_id: str, *states: str, seconds: float = 30) -> dict[str, Any]:
        """The job as soon as it is in one of the states, by default in a final one."""
        deadline = time.monotonic() + seconds
        while (job := self.job(job_id))["status"] not in (states or FINAL):
            assert time.monotonic() < deadline, f"still {job['status']}: {job.get('statusReason')}"
            assert not (states and job["status"] in FINAL), f"{job['status']}: {job.get('statusReason')}"
            time.sleep(0.05)
        return job

    def run(self, definition: str, **options: Any) -> dict[str, Any]:
        return self.wait(self.submit(definition, **options))

    def log(self, job: dict[str, Any], group: str = "/aws/batch/job") -> list[str]:
        """The lines of a container job or of one node, without the local cloud's own first line."""
        events = self.logs.get_log_events(
            logGroupName=group, logStreamName=job["container"]["logStreamName"], startFromHead=True
        )["events"]
        lines = [event["message"] for event in events]
        assert "emulated by this machine's Python" in lines[0]
        return lines[1:]
