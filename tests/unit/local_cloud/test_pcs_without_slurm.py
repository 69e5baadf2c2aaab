"""Where Slurm is not installed, a cluster cannot be made, and its state says what to install."""

from __future__ import annotations

import pytest

from scripts.local_cloud.pcs.backend import PcsBackend
from scripts.local_cloud.pcs.errors import ConflictException
from scripts.local_cloud.slurm import requirements

REQUEST = {
    "clusterName": "pilot-train",
    "size": "SMALL",
    "networking": {"subnetIds": ["subnet-1"]},
    "scheduler": {"type": "SLURM", "version": "25.11"},
}


def test_the_cluster_fails_with_the_words_and_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "missing_programs", lambda: ("slurmctld", "munged"))
    backend = PcsBackend("us-west-2", "123456789012")
    cluster = backend.create_cluster(REQUEST)
    assert cluster.status == "CREATE_FAILED"
    [error] = cluster.describe()["errorInfo"]
    assert "slurmctld, munged, not installed" in error["message"]
    assert "apt-get install" in error["message"]
    with pytest.raises(ConflictException, match="CREATE_FAILED"):
        backend.create_queue({"clusterIdentifier": cluster.id, "queueName": "train"})
    backend.delete_cluster(cluster.id)
    assert backend.clusters == {}
