"""For all tests."""

from __future__ import annotations

import signal

# A shell that starts us in the background lets us ignore Ctrl-C, and every process that a test starts would inherit
# it: tests of Ctrl-C must not depend on how the suite was started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
