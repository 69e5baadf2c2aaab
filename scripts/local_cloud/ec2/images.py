"""DescribeImages that knows the ECS Neuron AMIs and the Neuron DLAMI, and says that they are emulated."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.amis import Ami
from moto.ec2.responses import EC2Response

from scripts.local_cloud.ec2 import neuron_amis

_DESCRIPTION = "{name}, emulated by the local cloud: no such image exists here"


def show_disks() -> None:
    """An AMI's disk is as large as its snapshot; moto says 15 GiB of each."""
    described: Any = vars(Ami)["block_device_mappings"].fget

    def block_device_mappings(self: Ami) -> list[dict[str, Any]]:
        size = self.ebs_snapshot.volume.size
        return [
            {
                **mapping,
                "Ebs": {**mapping["Ebs"], "VolumeSize": size, "Encrypted": self.ebs_snapshot.encrypted},
            }
            for mapping in described(self)
        ]

    Ami.block_device_mappings = property(block_device_mappings)  # type: ignore[method-assign, assignment]


class Images(EC2Response):
    def describe_images(self) -> ActionResult:
        known = neuron_amis.images(self.region)
        for image_id in self._get_param("ImageIds", []):
            if image_id in known:
                self._supply(image_id, known[image_id], "Amazon ECS optimized Neuron AMI", "/dev/xvda")
            elif image_id == neuron_amis.dlami_id(self.region):
                name = neuron_amis.DLAMI_NAME
                self._supply(image_id, name, name, neuron_amis.DLAMI_ROOT_DEVICE)
        return super().describe_images()

    def _supply(self, image_id: str, name: str, kind: str, root_device_name: str) -> None:
        image = self.ec2_backend.amis.get(image_id)
        if image is None:
            image = Ami(
                self.ec2_backend,
                image_id,
                name=name,
                owner_id="591542846629",
                owner_alias="amazon",
                public=True,
                architecture="arm64" if name.endswith("arm64") else "x86_64",
                virtualization_type="hvm",
                hypervisor="xen",
                root_device_type="ebs",
            )
            self.ec2_backend.amis[image_id] = image
        image.name = name
        image.description = _DESCRIPTION.format(name=kind)
        image.root_device_name = root_device_name
