"""Start, find and stop the local cloud: one background process for each state directory.

The state directory holds `server.json` (process id and port), the log, the CDK's home and the working directories of
jobs. What the cloud contains lives in the process: `stop` empties it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from scripts.local_cloud.accounts import DEFAULT_ACCOUNT, SECRET, access_key
from stacks.domain.errors import WorldError

_CHECKOUT = Path(__file__).resolve().parents[2]
_START_SECONDS = 30.0
_STOP_SECONDS = 15.0
_LOG_TAIL_LINES = 20
# The servers that this process has started: they outlive it, and nobody waits for them.
_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class LocalCloud:
    endpoint_url: str
    pid: int
    state_dir: Path
    log_file: Path

    def environment(self, account: str = DEFAULT_ACCOUNT) -> dict[str, str]:
        """What boto3, the aws command and the CDK CLI need to talk to this cloud, and to nothing else.

        Whoever merges this into an existing environment has to drop that one's AWS_PROFILE and AWS_SESSION_TOKEN.
        """
        local_hosts = "localhost,127.0.0.1"
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": access_key(account),
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            # The user's own profiles and SSO sessions must not leak in: these files do not exist.
            "AWS_CONFIG_FILE": str(self.state_dir / "no-aws-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.state_dir / "no-aws-credentials"),
            # The CDK CLI remembers account ids by access key.
            "CDK_HOME": str(self.state_dir / "cdk-home"),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_NOTICES": "false",
            "NO_PROXY": local_hosts,
            "no_proxy": local_hosts,
        }


def default_state_dir() -> Path:
    """In the checkout, unless NEURONKIT_LOCAL_CLOUD_DIR names another place (tests run several clouds)."""
    named = os.environ.get("NEURONKIT_LOCAL_CLOUD_DIR")
    return Path(named) if named else _CHECKOUT / ".neuronkit" / "local-cloud"


def start(state_dir: Path, port: int = 0) -> LocalCloud:
    """The running cloud of this directory, or a new one on `port` (0: any free one). Waits until it answers."""
    state_dir = state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True)
    with FileLock(state_dir / "start.lock"):
        running = find(state_dir)
        if running is not None:
            return running
        _state_file(state_dir).unlink(missing_ok=True)
        return _wait_until_ready(_spawn(state_dir, port), state_dir)


def find(state_dir: Path) -> LocalCloud | None:
    """The cloud of this directory, if its process lives and its endpoint answers as that process."""
    state_dir = state_dir.resolve()
    try:
        state = json.loads(_state_file(state_dir).read_text())
        cloud = _cloud(state_dir, int(state["pid"]), int(state["port"]))
        os.kill(cloud.pid, 0)
    except (OSError, ValueError, KeyError):
        return None
    return cloud if _answers(cloud) else None


def stop(state_dir: Path) -> bool:
    """Ends the cloud, its jobs and everything it contained. False if none was running."""
    state_dir = state_dir.resolve()
    cloud = find(state_dir)
    if cloud is None:
        return False
    os.kill(cloud.pid, signal.SIGTERM)
    if not _gone_within(cloud.pid, _STOP_SECONDS):
        os.kill(cloud.pid, signal.SIGKILL)
        _gone_within(cloud.pid, _STOP_SECONDS)
    _state_file(state_dir).unlink(missing_ok=True)
    return True


def _state_file(state_dir: Path) -> Path:
    return state_dir / "server.json"


def _cloud(state_dir: Path, pid: int, port: int) -> LocalCloud:
    return LocalCloud(f"http://localhost:{port}", pid, state_dir, state_dir / "server.log")


def _spawn(state_dir: Path, port: int) -> subprocess.Popen[bytes]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MOTO_"))
    }
    command = [
        sys.executable,
        "-m",
        "scripts.local_cloud.server",
        "--port",
        str(port),
        "--state",
        str(state_dir),
    ]
    with (state_dir / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=_CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _started.append(process)
    return process


def _wait_until_ready(process: subprocess.Popen[bytes], state_dir: Path) -> LocalCloud:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        cloud = find(state_dir)
        if cloud is not None and cloud.pid == process.pid:
            return cloud
        if process.poll() is not None:
            raise WorldError(
                f"the local cloud ended with status {process.returncode} before it was ready",
                _log_tail(state_dir / "server.log"),
            )
        time.sleep(0.05)
    process.kill()
    raise WorldError(
        f"the local cloud did not answer within {_START_SECONDS:.0f} s", _log_tail(state_dir / "server.log")
    )


def _log_tail(log_file: Path) -> str:
    lines = log_file.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    return f"the end of {log_file}:\n" + "\n".join(lines)


def _answers(cloud: LocalCloud) -> bool:
    # Never through a proxy that the environment may name.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{cloud.endpoint_url}/neuronkit/health", timeout=5) as response:
            answer = json.load(response)
    except (OSError, ValueError):
        return False
    return isinstance(answer, dict) and answer.get("pid") == cloud.pid


def _gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not _alive(pid):
            return True
        time.sleep(0.05)
    return False


def _alive(pid: int) -> bool:
    try:
        # A child of this very process stays as a zombie until somebody waits for it.
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
