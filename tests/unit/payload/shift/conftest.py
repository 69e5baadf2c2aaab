"""The function's package is on the path, as it is in Lambda."""

import sys
from pathlib import Path

import stacks

PAYLOADS = str(Path(stacks.__file__).parent / "payload")
if PAYLOADS not in sys.path:
    sys.path.insert(0, PAYLOADS)
