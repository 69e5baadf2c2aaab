"""For all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# The suite decides whether a change may land, so a property is tried with the same examples on each run; `make search`
# tries new ones.
settings.register_profile("same-examples", derandomize=True)
settings.register_profile("new-examples", derandomize=False)
settings.load_profile("same-examples")

# A shell that starts us in the background lets us ignore Ctrl-C, and every process that a test starts would inherit
# it: tests of Ctrl-C must not depend on how the suite was started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
