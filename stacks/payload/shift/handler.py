"""The Lambda function of a shift: reads both sides, asks `decide`, does what it says, and looks again.

Variables, each after NEURONKIT_: ENVIRONMENT, SHIFT, FLEET_STACK, CLUSTER_STACK (names of stacks), CLUSTER, BUCKET, PREFIX (of stopped jobs),
PARAMETER (the override), STATE_PARAMETER, ZONE (its name), ZONE_RULES (its TZif file: zlib, base64), WINDOWS (JSON: [weekday, start
minute, minutes, replicas]), DRAIN_MINUTES, REPLICAS_PER_NODE, FLOOR_NODES.

Actions: cloudformation:DescribeStacks of both stacks; ssm:GetParameter of both parameters, PutParameter of the state; ecs:DescribeServices,
ecs:UpdateService of the fleet's services; autoscaling:DescribeAutoScalingGroups, application-autoscaling:
DescribeScalableTargets, RegisterScalableTarget; ec2:DescribeInstances; batch:DescribeComputeEnvironments, ListJobs,
DescribeJobs, UpdateComputeEnvironment, TerminateJob, SubmitJob, TagResource; s3:ListBucket of PREFIX and runs/,
GetObject, PutObject, DeleteObject in PREFIX, GetObject of runs/*/run.json; cloudwatch:PutMetricData (neuronkit/serving).
One at a time: a reserved concurrency of 1. Called at each switch, and every 10 minutes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from shift.answers import HOLDING, job_state, service
from shift.decisions import (
    Action,
    Close,
    Decision,
    Forget,
    Open,
    Remember,
    SetNodes,
    Stop,
    Submit,
    decide,
    job_of,
)
from shift.override import Override, read_override
from shift.records import REASON, again_since_ms, run_record_key, stopped_job
from shift.settings import Settings, goal_at, read_settings
from shift.sides import Goal, Job, Remembered, Serving, Training, Unread
from shift.state import last, report, state_document
from shift.windows import STATES

REFUSED = (ClientError, BotoCoreError)
NAMESPACE = "neuronkit/serving"
ENVIRONMENT_TAG, CLUSTER_TAG = "neuronkit:environment", "neuronkit:cluster"
ROUNDS = 4
"""Enough for close, stop, open, submit; what AWS shows late is done by the next call."""
SERVICES_PER_CALL, JOBS_PER_CALL = 10, 100
RETRIES = Config(retries={"mode": "standard", "max_attempts": 4}, connect_timeout=3, read_timeout=10)
ONCE = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=3, read_timeout=20)


class StepError(Exception):
    """Something was refused; the next call goes on from what is then."""


@dataclass(frozen=True)
class Clients:
    cloudformation: Any
    ssm: Any
    ecs: Any
    autoscaling: Any
    scaling: Any
    ec2: Any
    batch: Any
    batch_once: Any
    """Without retries: SubmitJob has no client token."""
    s3: Any
    cloudwatch: Any


@dataclass(frozen=True)
class World:
    serving: Serving | Unread | None
    ecs_cluster: str
    training: Training | Unread | None
    environment_arn: str
    queue_arn: str
    remembered: tuple[Remembered, ...]


def handle(_event: object, _context: object) -> dict[str, Any]:
    def client(service: str, config: Config = RETRIES) -> Any:
        return boto3.client(service, config=config)

    clients = Clients(
        cloudformation=client("cloudformation"),
        ssm=client("ssm"),
        ecs=client("ecs"),
        autoscaling=client("autoscaling"),
        scaling=client("application-autoscaling"),
        ec2=client("ec2"),
        batch=client("batch"),
        batch_once=client("batch", ONCE),
        s3=client("s3"),
        cloudwatch=client("cloudwatch"),
    )
    return Controller(clients, read_settings(os.environ), lambda: datetime.now(UTC)).run()


@dataclass
class Controller:
    clients: Clients
    settings: Settings
    clock: Callable[[], datetime]

    def run(self) -> dict[str, Any]:
        """What it saw and did. Raises StepError at the end when anything was refused."""
        now = self.clock()
        override = self._override()
        goal = goal_at(self.settings, override, now)
        done: list[Action] = []
        errors: list[str] = []
        decision = Decision((), (), (), is_late=False)
        for _ in range(ROUNDS):
            world = self.read(now)
            errors += [f"{side.why}" for side in (world.serving, world.training) if isinstance(side, Unread)]
            decision = decide(goal, world.serving, world.training, world.remembered, now)
            new = [[a for a in side if a not in done] for side in (decision.serving, decision.training)]
            if not any(new) or errors:
                self._act_all(new, world, now, done, errors)
                break
            self._act_all(new, world, now, done, errors)
        try:
            self._measure(goal, decision)
        except REFUSED as error:
            errors.append(f"metrics: {error}")
        said = report(goal, decision, done, errors)
        try:
            self._record(state_document(self.settings, goal, override, said, now), done, now)
        except REFUSED as error:
            errors.append(f"state: {error}")
        print(json.dumps({**said, "errors": errors}))
        if errors:
            raise StepError("; ".join(dict.fromkeys(errors)))
        return said

    def _act_all(
        self, sides: list[list[Action]], world: World, now: datetime, done: list[Action], errors: list[str]
    ) -> None:
        """What is refused for one job keeps no other back; but nothing is stopped that was not remembered, and no job
        while others could take its place."""
        kept: set[str] = set()
        for action in (action for actions in sides for action in actions):
            if isinstance(action, Remember | Stop) and ("" in kept or job_of(action) in kept):
                continue
            try:
                self._act(action, world, now)
            except REFUSED as error:
                errors.append(f"{type(action).__name__}: {error}")
                kept |= {""} if isinstance(action, Close) else {job_of(action)}
            else:
                done.append(action)

    # --- what is there ---

    def _override(self) -> Override:
        try:
            found = self.clients.ssm.get_parameter(Name=self.settings.parameter)["Parameter"]
        except REFUSED as error:
            return Override(complaint=f"the override could not be read ({error}): the timetable holds")
        return read_override(found["Value"], found.get("LastModifiedDate"))

    def read(self, now: datetime) -> World:
        serving, ecs_cluster = self._tried(self._serving, "")
        training, (environment_arn, queue_arn, remembered) = self._tried(
            lambda: self._training(now), ("", "", ())
        )
        return World(serving, ecs_cluster, training, environment_arn, queue_arn, remembered)

    @staticmethod
    def _tried(read: Callable[[], tuple[Any, Any]], otherwise: Any) -> tuple[Any, Any]:
        try:
            return read()
        except REFUSED as error:
            return Unread(str(error)), otherwise

    def _outputs(self, stack: str) -> dict[str, str] | None:
        """None: there is no such stack."""
        try:
            (found,) = self.clients.cloudformation.describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise
        return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs") or ()}

    def _serving(self) -> tuple[Serving | None, str]:
        outputs = self._outputs(self.settings.fleet_stack)
        if not outputs:
            return None, ""
        cluster, names = outputs["EcsClusterName"], outputs["ServiceNames"].split(",")
        counts: list[dict[str, Any]] = []
        for start in range(0, len(names), SERVICES_PER_CALL):
            part = names[start : start + SERVICES_PER_CALL]
            counts += self.clients.ecs.describe_services(cluster=cluster, services=part)["services"]
        ranges = self._ranges(cluster, names)
        services = tuple(service(one, ranges.get(one["serviceName"])) for one in counts)
        group = outputs.get("AutoScalingGroupName")
        # Managed instances have no group: there a node goes with its replicas.
        nodes = self._group_size(group) if group else max((one.running for one in services), default=0)
        return Serving(services, nodes), cluster

    def _ranges(self, cluster: str, names: list[str]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        paginator = self.clients.scaling.get_paginator("describe_scalable_targets")
        ids = [f"service/{cluster}/{name}" for name in names]
        for page in paginator.paginate(
            ServiceNamespace="ecs", ResourceIds=ids, ScalableDimension="ecs:service:DesiredCount"
        ):
            for one in page["ScalableTargets"]:
                found[one["ResourceId"].rpartition("/")[2]] = (one["MinCapacity"], one["MaxCapacity"])
        return found

    def _group_size(self, name: str) -> int:
        groups = self.clients.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        return sum(len(group["Instances"]) for group in groups["AutoScalingGroups"])

    def _training(self, now: datetime) -> tuple[Training | None, tuple[str, str, tuple[Remembered, ...]]]:
        outputs = self._outputs(self.settings.cluster_stack)
        if not outputs:
            return None, ("", "", ())
        environment_arn, queue_arn = outputs["ComputeEnvironmentArn"], outputs["JobQueueArn"]
        answer = self.clients.batch.describe_compute_environments(computeEnvironments=[environment_arn])
        (environment,) = answer["computeEnvironments"]
        running = tuple(
            Job(one["jobId"], one["jobName"])
            for state in HOLDING
            for one in self._jobs(jobQueue=queue_arn, jobStatus=state)
        )
        training = Training(
            is_open=environment["state"] == "ENABLED",
            is_changing=environment["status"] in ("UPDATING", "CREATING"),
            running=running,
            instances=self._training_instances(),
        )
        return training, (environment_arn, queue_arn, self._remembered(queue_arn, now))

    def _jobs(self, **wanted: Any) -> list[dict[str, Any]]:
        pages = self.clients.batch.get_paginator("list_jobs").paginate(**wanted)
        return [one for page in pages for one in page["jobSummaryList"]]

    def _training_instances(self) -> int:
        tags = {ENVIRONMENT_TAG: self.settings.environment, CLUSTER_TAG: self.settings.cluster}
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
        alive = ["pending", "running", "shutting-down", "stopping"]
        filters.append({"Name": "instance-state-name", "Values": alive})
        pages = self.clients.ec2.get_paginator("describe_instances").paginate(Filters=filters)
        return sum(len(group["Instances"]) for page in pages for group in page["Reservations"])

    def _remembered(self, queue_arn: str, now: datetime) -> tuple[Remembered, ...]:
        documents = [self._document(key)[0] for key in self._keys()]
        details = self._details([document["id"] for document in documents])
        ids = {document["id"] for document in documents}
        return tuple(self._one_remembered(document, ids, details, queue_arn, now) for document in documents)

    def _one_remembered(
        self,
        document: dict[str, Any],
        remembered: set[str],
        details: Mapping[str, Any],
        queue_arn: str,
        now: datetime,
    ) -> Remembered:
        named = self._jobs(jobQueue=queue_arn, filters=[{"name": "JOB_NAME", "values": [document["name"]]}])
        newer = [
            one
            for one in named
            if one["jobName"] == document["name"]
            and one["jobId"] not in remembered
            and one.get("createdAt", 0) >= again_since_ms(document)
        ]
        claimed = document["claimed_at"]
        return Remembered(
            id=document["id"],
            name=document["name"],
            state=job_state(details.get(document["id"])),
            is_again=bool(newer),
            claim_seconds=(now - datetime.fromisoformat(claimed)).total_seconds() if claimed else None,
        )

    def _details(self, ids: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start in range(0, len(ids), JOBS_PER_CALL):
            answer = self.clients.batch.describe_jobs(jobs=ids[start : start + JOBS_PER_CALL])
            found |= {one["jobId"]: one for one in answer["jobs"]}
        return found

    # --- the bucket ---

    def _keys(self) -> list[str]:
        pages = self.clients.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.settings.bucket, Prefix=f"{self.settings.prefix}/"
        )
        return [one["Key"] for page in pages for one in page.get("Contents") or ()]

    def _key(self, job_id: str) -> str:
        return f"{self.settings.prefix}/{job_id}.json"

    def _document(self, key: str) -> tuple[dict[str, Any], str]:
        answer = self.clients.s3.get_object(Bucket=self.settings.bucket, Key=key)
        document: dict[str, Any] = json.loads(answer["Body"].read())
        return document, answer["ETag"]

    def _write(self, document: dict[str, Any], **condition: str) -> None:
        self.clients.s3.put_object(
            Bucket=self.settings.bucket,
            Key=self._key(document["id"]),
            Body=json.dumps(document).encode(),
            ContentType="application/json",
            **condition,
        )

    # --- what is done ---

    def _act(self, action: Action, world: World, now: datetime) -> None:
        if isinstance(action, SetNodes):
            self._set_nodes(action, world.ecs_cluster)
        elif isinstance(action, Open | Close):
            state = "ENABLED" if isinstance(action, Open) else "DISABLED"
            self.clients.batch.update_compute_environment(
                computeEnvironment=world.environment_arn, state=state
            )
        elif isinstance(action, Remember):
            self._remember(action.job)
        elif isinstance(action, Stop):
            self.clients.batch.terminate_job(jobId=action.job_id, reason=REASON)
        elif isinstance(action, Submit):
            self._submit(action.job_id, now)
        elif isinstance(action, Forget):
            self.clients.s3.delete_object(Bucket=self.settings.bucket, Key=self._key(action.job_id))

    def _set_nodes(self, action: SetNodes, cluster: str) -> None:
        """The range first: autoscaling then leaves the count alone."""
        self.clients.scaling.register_scalable_target(
            ServiceNamespace="ecs",
            ResourceId=f"service/{cluster}/{action.service}",
            ScalableDimension="ecs:service:DesiredCount",
            MinCapacity=action.minimum,
            MaxCapacity=action.maximum,
        )
        self.clients.ecs.update_service(cluster=cluster, service=action.service, desiredCount=action.desired)

    def _remember(self, job: Job) -> None:
        detail = self._details([job.id]).get(job.id)
        if detail is None:
            raise BotoCoreError
        key = run_record_key(detail.get("tags") or {})
        self._write(stopped_job(detail, self.settings.bucket, self._run_record(key) if key else None))

    def _run_record(self, key: str) -> dict[str, Any] | None:
        try:
            return self._document(key)[0]
        except ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return None
            raise

    def _submit(self, job_id: str, now: datetime) -> None:
        """The claim comes first: who finds it knows that a job may be there which nothing lists yet."""
        document, etag = self._document(self._key(job_id))
        self._write({**document, "claimed_at": now.isoformat()}, IfMatch=etag)
        self.clients.batch_once.submit_job(**document["request"])

    def _measure(self, goal: Goal, decision: Decision) -> None:
        dimensions = [
            {"Name": "Environment", "Value": self.settings.environment},
            {"Name": "Shift", "Value": self.settings.shift},
        ]
        values = {"ShiftState": STATES.index(goal.state), "ShiftLate": int(decision.is_late)}
        self.clients.cloudwatch.put_metric_data(
            Namespace=NAMESPACE,
            MetricData=[
                {"MetricName": name, "Dimensions": dimensions, "Value": value}
                for name, value in values.items()
            ],
        )

    def _record(self, document: dict[str, Any], done: list[Action], now: datetime) -> None:
        """A call that had nothing to do keeps what the last one did that had."""
        name = self.settings.state_parameter
        before = {} if done else json.loads(self.clients.ssm.get_parameter(Name=name)["Parameter"]["Value"])
        document["last"] = last(done, now) if done else before.get("last")
        text = json.dumps(document, ensure_ascii=False)
        self.clients.ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
