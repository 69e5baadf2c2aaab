"""Slurm's words for why a job waits or failed, and what to do about each. Pure."""

from __future__ import annotations

from typing import Final

# squeue(1), "Job reason codes"; the longest beginning that fits is taken.
_WAITS: Final = {
    "Resources": "all fitting nodes are in use: it starts when enough of them are free",
    "Priority": "jobs before it in the queue go first",
    "Dependency": "it waits for another job",
    "BeginTime": "it begins at a later time; a requeued job waits a few seconds",
    "JobHeldUser": "somebody holds it: `scontrol release ID` on the login node",
    "JobHeldAdmin": "an administrator holds it; Slurm also holds a job that failed to start several times",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved: `neuronkit status FILE` lists the nodes with Slurm's "
    "reason; `scontrol update nodename=NAME state=resume` takes one back",
    "NodeDown": "a node that it needs is down",
    "BadConstraints": "no node group has the features or devices that it asks for: it can never start; deploy again if the "
    "cluster's file has changed",
    "PartitionTimeLimit": "its time limit is longer than the queue's: shorten `time_limit_minutes` or raise the queue's MaxTime",
    "PartitionNodeLimit": "it asks for more nodes than the queue has, or than are up at the moment",
    "PartitionConfig": "it asks for more than the queue gives a job, such as nodes: it cannot start as it is",
    "PartitionDown": "the queue is down: `scontrol update partitionname=NAME state=up` on the login node",
    "PartitionInactive": "the queue is inactive: `scontrol update partitionname=NAME state=up` on the login node",
    "Nodes required for job are DOWN": "nodes that it needs are down, drained or kept for jobs of higher priority",
    "QOS": "a limit of its quality of service (QOS) holds it: `sacctmgr show qos` on the login node",
    "MaxJobs": "a limit on the number of jobs holds it",
    "Assoc": "a limit of its account holds it: `sacctmgr show assoc` on the login node",
    "Reservation": "it waits for its reservation in Slurm",
    "Licenses": "it waits for a licence",
    "Cleaning": "what an earlier attempt left is being cleaned up",
    "launch failed requeued held": "its nodes failed to start it and Slurm holds it: look at the nodes, then `scontrol release ID`",
}
_ENDS: Final = {
    "FAILED": "its script ended with an error",
    "TIMEOUT": "it reached its time limit",
    "NODE_FAIL": "a node failed and the job was not requeued",
    "CANCELLED": "it was cancelled",
    "OUT_OF_MEMORY": "a node had too little memory",
    "PREEMPTED": "it was pre-empted",
    "DEADLINE": "it could no longer end before its deadline",
    "BOOT_FAIL": "its nodes did not start",
}


def waiting_words(reason: str, job_id: str) -> str:
    """A sentence; Slurm's own word is always in it."""
    if not reason:
        return "Slurm gives no reason: it has not looked at the job yet"
    fitting = [start for start in _WAITS if reason.lstrip("(").startswith(start)]
    if not fitting:
        return f"Slurm says: {reason}"
    return f"Slurm says {reason}: {_WAITS[max(fitting, key=len)].replace('ID', job_id)}"


def ended_words(state: str, reason: str, exit_code: int | None) -> str:
    """Why a run that has failed has ended."""
    words = [_ENDS.get(state, state)]
    if exit_code is not None and exit_code != 0:
        words.append(f"exit code {exit_code}")
    if reason and reason.upper() != state:
        words.append(f"Slurm says {reason}")
    return "; ".join(words)


def sbatch_words(stderr: str) -> str:
    """Slurm's own sentences of a refusal, without the names of its programs."""
    prefixes = (
        "sbatch: error: ",
        "sbatch: fatal: ",
        "sbatch: ",
        "squeue: error: ",
        "scancel: error: ",
        "allocation failure: ",
    )
    lines = []
    for line in stderr.splitlines():
        text = line.strip()
        for prefix in prefixes:
            text = text.removeprefix(prefix)
        if text:
            lines.append(text)
    return "; ".join(dict.fromkeys(lines))
