"""Lambda's Invoke: the handler really runs, from the function's own archive, in a process of this Python.

It gets the function's variables, the region, keys of its account and the local cloud as endpoint, and its time limit
(in real seconds) holds. Memory, permissions of the role, network and the Lambda runtime's version are not emulated.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
import uuid
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda.models import LambdaFunction
from moto.awslambda.utils import get_backend
from werkzeug.wrappers import Response

from scripts.local_cloud import runtime
from scripts.local_cloud.accounts import DEFAULT_ACCOUNT, SECRET, access_key, account_of
from scripts.local_cloud.aws_lambda.log_group import log_group_of
from scripts.local_cloud.call import Call

_PATH = re.compile(r"/2015-03-31/functions/(?P<name>[^/]+)/invocations/?")
_RUNNER = Path(__file__).with_name("runner.py")


@dataclass(frozen=True)
class Outcome:
    payload: str
    error: str = ""


def is_one(call: Call) -> bool:
    return call.service == "lambda" and _PATH.fullmatch(call.environ.get("PATH_INFO", "")) is not None


def answer(call: Call) -> Response:
    """Without moto's lock: the function calls the local cloud while it runs."""
    match = _PATH.fullmatch(call.environ["PATH_INFO"])
    assert match is not None, "is_one was asked"
    account = account_of(call.access_key) or DEFAULT_ACCOUNT
    try:
        function = get_backend(account, call.region).get_function(unquote(match["name"]))
    except UnknownFunctionException as error:
        return _refusal("ResourceNotFoundException", str(error), 404)
    if function.reserved_concurrency == 0:
        return _refusal("TooManyRequestsException", "Rate Exceeded.", 429)
    event = call.environ["wsgi.input"].read().decode() or "null"
    kind = call.environ.get("HTTP_X_AMZ_INVOCATION_TYPE", "RequestResponse")
    if kind == "DryRun":
        return Response(status=204)
    if kind == "Event":
        threading.Thread(target=run, args=(function, event), daemon=True).start()
        return Response(status=202)
    outcome = run(function, event)
    headers = {"X-Amz-Executed-Version": "$LATEST"}
    if outcome.error:
        headers["X-Amz-Function-Error"] = outcome.error
    return Response(outcome.payload, status=200, mimetype="application/json", headers=headers)


def run(function: LambdaFunction, event: str) -> Outcome:
    request_id = str(uuid.uuid4())
    stream = f"{datetime.now(UTC):%Y/%m/%d}/[$LATEST]{secrets.token_hex(16)}"
    folder = runtime.current().state_dir / "lambda" / request_id
    code = folder / "code"
    code.mkdir(parents=True)
    started = time.monotonic()
    try:
        zipfile.ZipFile(io.BytesIO(function.code_bytes)).extractall(code)
        outcome, log = _run(function, event, folder, _environment(function, code, request_id, stream))
    except zipfile.BadZipFile as error:
        outcome, log = (
            Outcome(json.dumps({"errorMessage": str(error), "errorType": "BadZipFile"}), "Unhandled"),
            "",
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    milliseconds = (time.monotonic() - started) * 1000
    lines = [
        f"START RequestId: {request_id} Version: $LATEST",
        *log.splitlines(),
        f"END RequestId: {request_id}",
    ]
    lines.append(
        f"REPORT RequestId: {request_id} Duration: {milliseconds:.2f} ms (emulated by the local cloud)"
    )
    _write_log(function, stream, lines)
    return outcome


def _run(
    function: LambdaFunction, event: str, folder: Path, environment: dict[str, str]
) -> tuple[Outcome, str]:
    result_file = folder / "result.json"
    process = subprocess.Popen(
        [sys.executable, str(_RUNNER), str(function.handler), str(result_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=folder / "code",
    )
    try:
        log, _ = process.communicate(event, timeout=float(function.timeout))
    except subprocess.TimeoutExpired:
        process.kill()
        log, _ = process.communicate()
        message = f"Task timed out after {float(function.timeout):.2f} seconds"
        return Outcome(
            json.dumps({"errorMessage": message, "errorType": "Sandbox.Timedout"}), "Unhandled"
        ), log
    if not result_file.exists():
        message = f"Runtime exited with error: exit status {process.returncode}"
        return Outcome(
            json.dumps({"errorMessage": message, "errorType": "Runtime.ExitError"}), "Unhandled"
        ), log
    result: dict[str, str] = json.loads(result_file.read_text())
    return Outcome(**result), log


def _environment(function: LambdaFunction, code: Path, request_id: str, stream: str) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ},
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": runtime.current().endpoint_url,
        "AWS_REGION": function.region,
        "AWS_DEFAULT_REGION": function.region,
        "AWS_ACCESS_KEY_ID": access_key(function.account_id),
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.run_time}",
        "AWS_LAMBDA_FUNCTION_NAME": function.function_name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_size),
        "AWS_LAMBDA_LOG_GROUP_NAME": log_group_of(function),
        "AWS_LAMBDA_LOG_STREAM_NAME": stream,
        "LAMBDA_TASK_ROOT": str(code),
        "NEURONKIT_FUNCTION_ARN": function.function_arn,
        "NEURONKIT_REQUEST_ID": request_id,
        "NEURONKIT_TIMEOUT_SECONDS": str(function.timeout),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: str(value) for name, value in function.environment_vars.items()},
    }


def _write_log(function: LambdaFunction, stream: str, lines: list[str]) -> None:
    logs: Any = runtime.current().clients.client("logs", function.account_id, function.region)
    group = log_group_of(function)
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    moment = int(time.time() * 1000)
    events = [{"timestamp": moment, "message": line} for line in lines if line]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


def _refusal(code: str, message: str, status: int) -> Response:
    body = json.dumps({"Type": "User", "Message": message})
    return Response(body, status=status, mimetype="application/json", headers={"x-amzn-errortype": code})
