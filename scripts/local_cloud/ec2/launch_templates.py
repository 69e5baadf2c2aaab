"""Launch template versions: user data that moto's describe call can read again."""

from __future__ import annotations

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data


class LaunchTemplateVersions(EC2Response):
    def create_launch_template_version(self) -> ActionResult:
        data = self._get_param("LaunchTemplateData", {})
        if data.get("UserData") is not None:
            data["UserData"] = parse_user_data(data["UserData"])
        return super().create_launch_template_version()
