"""Runs one invocation of a function's handler, in a process of its own: `python runner.py MODULE.FUNCTION RESULT_FILE`.

Reads the event from standard input. What the handler prints is the function's log. Stands alone: nothing of the local
cloud may reach the function.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path


class Context:
    """The part of Lambda's context object that handlers use."""

    def __init__(self) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = "$LATEST"
        self.invoked_function_arn = os.environ["NEURONKIT_FUNCTION_ARN"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.aws_request_id = os.environ["NEURONKIT_REQUEST_ID"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self._deadline = time.monotonic() + float(os.environ["NEURONKIT_TIMEOUT_SECONDS"])

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def main(handler: str, result_file: str) -> None:
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    try:
        module, _, function = handler.rpartition(".")
        answer = getattr(importlib.import_module(module.replace("/", ".")), function)(
            json.loads(sys.stdin.read() or "null"), Context()
        )
        result = {"payload": json.dumps(answer)}
    except Exception as error:  # noqa: BLE001  whatever the function raises is its answer
        lines = traceback.format_exc().splitlines()
        print("[ERROR]", "\n".join(lines))
        failure = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": lines[1:]}
        result = {"payload": json.dumps(failure), "error": "Unhandled"}
    Path(result_file).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
