"""Where a node reads a secret: what AWS Batch makes of the same ARN."""

from __future__ import annotations

import pytest

from stacks.domain.render.secret_source import SecretSource, secret_source

SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:team/token-AbCdEf"
PARAMETER = "arn:aws:ssm:us-west-2:111122223333:parameter/team/token"


@pytest.mark.parametrize(
    ("arn", "reader", "words"),
    [
        (SECRET, "read_secret", ("us-east-2", SECRET, "")),
        (f"{SECRET}:key::", "read_secret", ("us-east-2", SECRET, "key")),
        (
            f"{SECRET}::AWSPREVIOUS:",
            "read_secret",
            ("us-east-2", SECRET, "", "--version-stage", "AWSPREVIOUS"),
        ),
        (f"{SECRET}:key::v1", "read_secret", ("us-east-2", SECRET, "key", "--version-id", "v1")),
        (PARAMETER, "read_parameter", ("us-west-2", PARAMETER)),
    ],
)
def test_the_parts_of_an_arn(arn: str, reader: str, words: tuple[str, ...]) -> None:
    assert secret_source("TOKEN", arn) == SecretSource("TOKEN", reader, words)
