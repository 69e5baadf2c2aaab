"""The CDK app is a composition root: short, without decisions, and with its settings in Python."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_app_is_short_and_makes_no_resources() -> None:
    text = (ROOT / "app.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert "aws_cdk" not in text


def test_cdk_json_holds_the_apps_command_and_no_settings() -> None:
    """Flags there would be missing wherever the app is made without the CLI, in tests first of all."""
    assert set(json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))) == {"app"}


def test_stacks_read_no_context_and_no_environment() -> None:
    for path in (ROOT / "stacks").rglob("*.py"):
        if "payload" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert "try_get_context" not in text, path
            assert "os.environ" not in text, path


def test_the_cdk_cli_is_pinned_by_hash_and_from_no_particular_registry() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    (version,) = package["devDependencies"].values()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert lock["packages"]["node_modules/aws-cdk"]["version"] == version
    assert all("integrity" in body for name, body in lock["packages"].items() if name)
    assert "resolved" not in str(lock)
    assert "http" not in str(lock)
