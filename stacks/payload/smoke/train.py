"""Entry of the smoke job: `python train.py [options]`; README.md beside it says what it does and expects."""

import os
import sys
import traceback

# Before numpy is imported: several processes share a test machine's cores, and one thread keeps sums in one order.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from smokejob.environment import read_environment
from smokejob.errors import JobError
from smokejob.options import parse_options
from smokejob.signals import StopSignals
from smokejob.training import run


def main() -> int:
    rank: int | None = None
    signals = StopSignals()
    signals.install()
    try:
        options = parse_options(sys.argv[1:])
        environment = read_environment(os.environ)
        rank = environment.rank
        run(environment, options, signals)
    except JobError as error:
        where = "" if rank is None else f"rank {rank}: "
        print(f"train.py: {where}{error}", file=sys.stderr)
        return error.exit_code
    return 0


def leave(code: int) -> None:
    """Without Python's exit hooks: JAX's waits for peers that a run which failed no longer has."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    try:
        leave(main())
    except Exception:  # noqa: BLE001 (whatever it is, it must end the process now)
        traceback.print_exc()
        leave(1)
