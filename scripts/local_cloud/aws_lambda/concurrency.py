"""Lambda's limit of executions at the same time, and when it refuses to reserve a part of it. No call is throttled by it.

As reports have it, of accounts with limits of 10, 50 and 1,000: at least 100 stay unreserved, of a smaller limit all.
"""

from __future__ import annotations

import json
from typing import Any

import moto.awslambda.urls
from moto.awslambda.exceptions import InvalidParameterValueException
from moto.awslambda.models import LambdaBackend
from moto.awslambda.responses import LambdaResponse

DEFAULT_LIMIT = 1_000
UNRESERVED_LEAST = 100
_PATH = r"{0}/(?P<api_version>[^/]+)/account-settings/?$"
_limits: dict[tuple[str, str], int] = {}
"""By account and region."""


def set_limit(account: str, region: str, executions: int) -> dict[str, Any]:
    _limits[account, region] = int(executions)
    return {"executions": int(executions)}


def emulate() -> None:
    reserve = LambdaBackend.put_function_concurrency

    def put_function_concurrency(self: LambdaBackend, function_name: str, reserved_concurrency: str) -> str:
        limit = _limit(self)
        least = min(limit, UNRESERVED_LEAST)
        if _unreserved(self, besides=function_name) - int(reserved_concurrency) < least:
            raise InvalidParameterValueException(
                "Specified ReservedConcurrentExecutions for function decreases account's "
                f"UnreservedConcurrentExecution below its minimum value of [{least}]."
            )
        return reserve(self, function_name, reserved_concurrency)

    def get_account_settings(self: LambdaResponse) -> str:
        return json.dumps(_settings(self.backend))

    LambdaBackend.put_function_concurrency = put_function_concurrency  # type: ignore[method-assign]
    LambdaResponse.get_account_settings = get_account_settings  # type: ignore[attr-defined]
    moto.awslambda.urls.url_paths[_PATH] = LambdaResponse.dispatch


def _settings(backend: LambdaBackend) -> dict[str, Any]:
    functions = list(backend.list_functions())
    return {
        "AccountLimit": {
            "TotalCodeSize": 80_530_636_800,
            "CodeSizeUnzipped": 262_144_000,
            "CodeSizeZipped": 52_428_800,
            "ConcurrentExecutions": _limit(backend),
            "UnreservedConcurrentExecutions": _unreserved(backend),
        },
        "AccountUsage": {
            "TotalCodeSize": sum(function.code_size for function in functions),
            "FunctionCount": len(functions),
        },
    }


def _limit(backend: LambdaBackend) -> int:
    return _limits.get((backend.account_id, backend.region_name), DEFAULT_LIMIT)


def _unreserved(backend: LambdaBackend, besides: str = "") -> int:
    """`besides`: a function that is about to get another reservation."""
    reserved = [
        int(function.reserved_concurrency or 0)
        for function in backend.list_functions()
        if besides not in (function.function_name, function.function_arn)
    ]
    return _limit(backend) - sum(reserved)
