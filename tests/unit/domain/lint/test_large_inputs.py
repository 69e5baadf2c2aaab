"""Inputs made to take for ever end soon: in findings, or clean."""

from __future__ import annotations

import pytest

from tests.unit.domain.lint.inputs import linted

FAN_OUT = (
    "AWSTemplateFormatVersion: '2010-09-09'\n"
    f"l: &l [{', '.join(['x'] * 900)}]\n"
    f"m: [{', '.join(['*l'] * 900)}]\n"
)
HERE_DOCUMENTS = "#!/bin/bash\n#SBATCH -N 2\n" + "".join(f"cat <<EOF{n}\nx\nEOF{n}\n" for n in range(35_000))
LONG_LINE = "#!/bin/bash\n#SBATCH -N 2\necho " + "a$b" * 200_000 + "\n"
MIME = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n' + (
    "--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho hi\n\n" * 10_000 + "--B--\n"
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "expected"),
    [(FAN_OUT, {"NK008"}), (HERE_DOCUMENTS, set()), (LONG_LINE, {"NK440"}), (MIME, {"NK437"})],
    ids=["aliases that multiply", "here-documents", "a long line", "parts of a MIME message"],
)
def test_large_inputs_end_soon(text: str, expected: set[str]) -> None:
    assert {finding.id for finding in linted(text).findings} == expected
