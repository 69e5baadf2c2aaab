"""AWS Batch's API."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.batch.backend import BatchBackend, batch_backends
from scripts.local_cloud.batch.errors import ClientException
from scripts.local_cloud.batch.job import Job
from scripts.local_cloud.own_service import ActionResult, OwnService

_PAGE = 100


class Batch(OwnService):
    service = "batch"

    @property
    def backend(self) -> BatchBackend:
        return batch_backends[self.current_account][self.region]

    # ---- compute environments

    def create_compute_environment(self) -> ActionResult:
        environment = self.backend.create_environment(self.arguments())
        return ActionResult(
            {"computeEnvironmentName": environment.name, "computeEnvironmentArn": environment.arn}
        )

    def update_compute_environment(self) -> ActionResult:
        environment = self.backend.update_environment(self.arguments())
        return ActionResult(
            {"computeEnvironmentName": environment.name, "computeEnvironmentArn": environment.arn}
        )

    def delete_compute_environment(self) -> ActionResult:
        self.backend.delete_environment(self.arguments()["computeEnvironment"])
        return ActionResult({})

    def describe_compute_environments(self) -> ActionResult:
        wanted = self.arguments().get("computeEnvironments")
        found = [
            item.describe()
            for item in self.backend.environments.values()
            if not wanted or item.name in wanted or item.arn in wanted
        ]
        return self._page("computeEnvironments", found)

    # ---- job queues

    def create_job_queue(self) -> ActionResult:
        queue = self.backend.create_queue(self.arguments())
        return ActionResult({"jobQueueName": queue.name, "jobQueueArn": queue.arn})

    def update_job_queue(self) -> ActionResult:
        queue = self.backend.update_queue(self.arguments())
        return ActionResult({"jobQueueName": queue.name, "jobQueueArn": queue.arn})

    def delete_job_queue(self) -> ActionResult:
        self.backend.delete_queue(self.arguments()["jobQueue"])
        return ActionResult({})

    def describe_job_queues(self) -> ActionResult:
        wanted = self.arguments().get("jobQueues")
        found = [
            item.describe()
            for item in self.backend.queues.values()
            if not wanted or item.name in wanted or item.arn in wanted
        ]
        return self._page("jobQueues", found)

    # ---- job definitions

    def register_job_definition(self) -> ActionResult:
        definition = self.backend.register(self.arguments())
        return ActionResult(
            {
                "jobDefinitionName": definition.name,
                "jobDefinitionArn": definition.arn,
                "revision": definition.revision,
            }
        )

    def deregister_job_definition(self) -> ActionResult:
        self.backend.definition(self.arguments()["jobDefinition"]).status = "INACTIVE"
        return ActionResult({})

    def describe_job_definitions(self) -> ActionResult:
        arguments = self.arguments()
        wanted = [item.split("job-definition/", 1)[-1] for item in arguments.get("jobDefinitions") or ()]
        found = [
            item.describe()
            for item in self.backend.definitions.values()
            if (not wanted or f"{item.name}:{item.revision}" in wanted)
            and arguments.get("jobDefinitionName") in (None, item.name)
            and arguments.get("status") in (None, item.status)
        ]
        return self._page("jobDefinitions", found)

    # ---- jobs

    def submit_job(self) -> ActionResult:
        job = self.backend.submit(self.arguments())
        return ActionResult({"jobArn": job.arn, "jobName": job.name, "jobId": job.id})

    def describe_jobs(self) -> ActionResult:
        described = []
        for identifier in self.arguments()["jobs"]:
            job_id, _, node = identifier.split("job/", 1)[-1].partition("#")
            job = self.backend.jobs.get(job_id)
            if job is not None and not node:
                described.append(job.describe())
            elif job is not None and node.isdigit() and int(node) < len(job.nodes):
                described.append(job.describe_node(job.nodes[int(node)]))
        return ActionResult({"jobs": described})

    def list_jobs(self) -> ActionResult:
        arguments = self.arguments()
        if "multiNodeJobId" in arguments:
            job = self._job(arguments["multiNodeJobId"])
            found = [job.node_summary(node) for node in job.nodes]
            return self._page("jobSummaryList", [item for item in found if self._wanted_status(item)])
        if "jobQueue" not in arguments:
            raise ClientException("One of jobQueue, arrayJobId or multiNodeJobId must be specified")
        queue = self.backend.queue(arguments["jobQueue"])
        jobs = [job for job in self.backend.jobs.values() if job.queue is queue and self._passes_filters(job)]
        summaries = [job.summary() for job in jobs]
        if not arguments.get("filters"):
            # Without filters Batch lists one state, and that is RUNNING if none is given.
            summaries = [
                item for item in summaries if item["status"] == arguments.get("jobStatus", "RUNNING")
            ]
        return self._page("jobSummaryList", summaries)

    def cancel_job(self) -> ActionResult:
        arguments = self.arguments()
        self.backend.stop_job(self._job(arguments["jobId"]), arguments["reason"], terminate=False)
        return ActionResult({})

    def terminate_job(self) -> ActionResult:
        arguments = self.arguments()
        self.backend.stop_job(self._job(arguments["jobId"]), arguments["reason"], terminate=True)
        return ActionResult({})

    # ---- tags

    def list_tags_for_resource(self) -> ActionResult:
        return ActionResult({"tags": dict(self.backend.tags_of(self._resource_arn()))})

    def tag_resource(self) -> ActionResult:
        self.backend.tag_resource(self._resource_arn(), dict(self.arguments()["tags"]))
        return ActionResult({})

    def untag_resource(self) -> ActionResult:
        self.backend.untag_resource(self._resource_arn(), list(self.arguments()["tagKeys"]))
        return ActionResult({})

    # ---- shared

    def _job(self, identifier: str) -> Job:
        job = self.backend.find_job(identifier.split("job/", 1)[-1])
        if job is None:
            raise ClientException(f"Job {identifier} does not exist")
        return job

    def _resource_arn(self) -> str:
        return str(self.arguments()["resourceArn"])

    def _wanted_status(self, summary: dict[str, Any]) -> bool:
        wanted = self.arguments().get("jobStatus")
        return wanted in (None, summary["status"])

    def _passes_filters(self, job: Job) -> bool:
        for item in self.arguments().get("filters") or ():
            observed = {
                "JOB_NAME": job.name,
                "JOB_STATUS": job.status,
                "JOB_DEFINITION": job.definition.name,
            }
            name, values = item["name"], item["values"]
            if name in ("BEFORE_CREATED_AT", "AFTER_CREATED_AT"):
                moment = int(values[0])
                if not (job.created < moment if name.startswith("BEFORE") else job.created > moment):
                    return False
            elif name not in observed:
                raise ClientException(f"Filter {name} is not known")
            elif not any(_matches(observed[name], value) for value in values):
                return False
        return True

    def _page(self, key: str, items: list[Any]) -> ActionResult:
        arguments = self.arguments()
        start = int(arguments.get("nextToken") or 0)
        size = int(arguments.get("maxResults") or _PAGE)
        answer: dict[str, Any] = {key: items[start : start + size]}
        if start + size < len(items):
            answer["nextToken"] = str(start + size)
        return ActionResult(answer)


def _matches(text: str, pattern: str) -> bool:
    """A `*` at the end is a wildcard."""
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern
