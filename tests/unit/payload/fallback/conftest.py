"""Lambda functions import from the directory above their package; it is the same here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "stacks" / "payload"))
