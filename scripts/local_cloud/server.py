"""The local cloud's process: `python -m scripts.local_cloud.server --port PORT --state DIR`.

Binds to loopback, writes `server.json` into the state directory when it answers, and ends all jobs when it ends.
"""

from __future__ import annotations

import os

# moto reads its settings when it is imported.
os.environ.update(
    {
        "MOTO_DISABLE_GLOBAL_CORS": "1",
        # Nothing here may touch the user's own AWS configuration.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
)

import argparse
import json
import logging
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

from moto.core.config import default_user_config
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from scripts.local_cloud import moto_patches, runtime
from scripts.local_cloud.application_autoscaling import ApplicationAutoScaling
from scripts.local_cloud.autoscaling import lifecycle
from scripts.local_cloud.batch.backend import end_all_jobs
from scripts.local_cloud.batch.service import Batch
from scripts.local_cloud.clients import Clients
from scripts.local_cloud.cloudformation.service import CloudFormation
from scripts.local_cloud.ecs import emulation as ecs_emulation
from scripts.local_cloud.ecs.service import Ecs
from scripts.local_cloud.front import Front
from scripts.local_cloud.imagebuilder.service import ImageBuilder
from scripts.local_cloud.pcs import emulation
from scripts.local_cloud.pcs.service import Pcs
from scripts.local_cloud.resource_groups import ResourceGroups
from scripts.local_cloud.service_quotas import ServiceQuotas


class _QuietHandler(MotoRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        if type != "info":
            super().log(type, message, *args)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The emulated AWS of neuronkit, on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, required=True)
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    state_dir = options.state.resolve()
    for left_behind in ("jobs", "slurm", "lambda"):
        shutil.rmtree(state_dir / left_behind, ignore_errors=True)
    server = _make_server(options.port)
    endpoint_url = f"http://localhost:{server.port}"
    # moto builds URLs of its own (queues, uploads) from this.
    os.environ["MOTO_PORT"] = str(server.port)
    runtime.install(runtime.Runtime(endpoint_url, state_dir, Clients(endpoint_url)))
    ecs_emulation.start()
    lifecycle.start()
    _serve(server, state_dir)


def _make_server(port: int) -> BaseWSGIServer:
    for service in ("batch", "lambda"):
        default_user_config[service] = {"use_docker": False}
    # So that attaching an AWS policy that does not exist fails, and one that exists works.
    default_user_config["iam"] = {"load_aws_managed_policies": True}
    moto_patches.apply()
    front = Front(
        {
            "application-autoscaling": ApplicationAutoScaling,
            "cloudformation": CloudFormation,
            "ecs": Ecs,
            "batch": Batch,
            "imagebuilder": ImageBuilder,
            "pcs": Pcs,
            "resource-groups": ResourceGroups,
            "service-quotas": ServiceQuotas,
        }
    )
    return make_server("127.0.0.1", port, front, threaded=True, request_handler=_QuietHandler)


def _serve(server: BaseWSGIServer, state_dir: Path) -> None:
    def end(*_: object) -> None:
        runtime.current().stopping.set()
        # shutdown() waits for the loop that this signal has interrupted, so not from here.
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    state_file = state_dir / "server.json"
    partial = state_file.with_suffix(".partial")
    partial.write_text(json.dumps({"pid": os.getpid(), "port": server.port}))
    partial.replace(state_file)
    try:
        server.serve_forever()
    finally:
        end_all_jobs()
        emulation.end_all()
        shutil.rmtree(state_dir / "jobs", ignore_errors=True)
        state_file.unlink(missing_ok=True)
        # Threads that hang on a planted fault must not keep the process.
        os._exit(0)


if __name__ == "__main__":
    main()
