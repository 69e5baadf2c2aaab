"""A script that AWS PCS runs on nodes: uploaded by the CDK, and run only if it still has the checksum it had here."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_pcs as pcs
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

Group = pcs.CfnComputeNodeGroup

ACTION_NAME = "neuronkit node setup"
"""Also the name of its log on the node."""


class NodeSetupScript(Construct):
    """In the CDK's assets bucket, of the stack's own region, as PCS wants it. A bucket with a key of your own needs
    `kms:Decrypt` for the nodes' roles in that key's policy.
    """

    def __init__(self, scope: Construct, id_: str, *, text: str) -> None:
        super().__init__(scope, id_)
        self._sha256 = hashlib.sha256(text.encode()).hexdigest()
        # The CDK copies it into the assembly at once.
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "node-setup.sh"
            path.write_text(text, encoding="utf-8")
            self._asset = assets.Asset(self, "Script", path=str(path))

    def lifecycle_actions(self, arguments: Sequence[str]) -> Group.NodeLifecycleActionsProperty:
        """At every boot, because a mount does not outlive one; a node that fails is ended, and another started."""
        script = Group.NodeLifecycleScriptProperty(
            name=ACTION_NAME,
            script_source=Group.ScriptSourceProperty(
                script_location=self._asset.s3_object_url, checksum=self._sha256
            ),
            arguments=list(arguments),
            execution_policy="EVERY_BOOT",
            on_error="TERMINATE",
        )
        return Group.NodeLifecycleActionsProperty(
            stages=Group.NodeLifecycleStagesProperty(node_bootstrapped=[script])
        )

    @property
    def read_policy(self) -> iam.PolicyDocument:
        """For the nodes' role."""
        partition = cdk.Stack.of(self).partition
        arn = f"arn:{partition}:s3:::{self._asset.s3_bucket_name}/{self._asset.s3_object_key}"
        return iam.PolicyDocument(statements=[iam.PolicyStatement(actions=["s3:GetObject"], resources=[arn])])
