"""The smoke job's directory is the root of its imports on a node; it is the same here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "stacks" / "payload" / "smoke"))
