"""The CDK app: `cdk synth|diff|deploy|destroy -c environment=FILE` work as in any CDK app."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.console import Console
from scripts.loading import load_plan
from stacks.assembly import add_stacks, new_app
from stacks.domain.errors import InputError, KitError


def main() -> int:
    app, console = new_app(), Console()
    try:
        file = app.node.try_get_context("environment")
        if not isinstance(file, str):
            raise InputError("no environment file is named", "add `-c environment=FILE` to the cdk command")
        loaded = load_plan(Path(file))
        add_stacks(app, loaded.plan)
    except KitError as error:
        console.error(error)
        return error.exit_code
    console.findings(loaded.findings)
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
