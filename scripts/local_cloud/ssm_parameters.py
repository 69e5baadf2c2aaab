"""Public SSM parameters of regions for which moto has no capture, marked as emulated."""

from __future__ import annotations

from moto.core.utils import utcnow
from moto.ssm.models import Parameter, ParameterDict

from scripts.local_cloud.ec2 import neuron_amis

_PREFIX = "/aws/service/ecs/optimized-ami"
_DLAMI_PREFIX = "/aws/service/neuron/dlami/"


def supply_neuron_amis() -> None:
    load = ParameterDict._check_loading_status

    def check_loading_status(self: ParameterDict, key: str) -> None:
        first = not self.latest_ecs_amis_loaded
        load(self, key)
        if first and str(key or "").startswith(_PREFIX):
            for name, value in neuron_amis.supplied_parameters(self.region_name).items():
                dict.__setitem__(self, name, [_parameter(self, name, value)])
        if str(key or "").startswith(_DLAMI_PREFIX):
            for name, value in neuron_amis.dlami_parameters(self.region_name).items():
                dict.__setitem__(self, name, [_parameter(self, name, value)])

    ParameterDict._check_loading_status = check_loading_status  # type: ignore[method-assign]


def _parameter(parameters: ParameterDict, name: str, value: str) -> Parameter:
    return Parameter(  # type: ignore[abstract]
        account_id=parameters.account_id,
        name=name,
        value=value,
        parameter_type="String",
        description="emulated by the local cloud: AWS has other values",
        allowed_pattern=None,
        keyid=None,
        last_modified_date=utcnow(),
        version=1,
        data_type="text",
    )
