"""What looks like a secret: by its form (a token's prefix), or by the name that it is given."""

from __future__ import annotations

import re

_FORMS = re.compile(
    r"(?<![A-Za-z0-9])("
    r"hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|(AKIA|ASIA)[A-Z0-9]{16}|(FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+=]{40,}|AIza[A-Za-z0-9_-]{35}"
    r"|sk-[A-Za-z0-9]{20,}|sk-(proj|ant|svcacct|admin|or)-[A-Za-z0-9_-]{20,}|nvapi-[A-Za-z0-9_-]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T\w+/B\w+/\w+|dckr_pat_[A-Za-z0-9_-]{20,}"
    r"|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]*"
    r"|X-Amz-Signature=[0-9a-f]{20,}|(Bearer|Basic) [A-Za-z0-9._~+/=-]{16,})"
)
# A password that is a variable's reference (`$DB_PASSWORD`) or a place to fill in (`<password>`) is none.
_URL_PASSWORD = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@$<{][^/\s@]*(?=@)")
_NAMES = re.compile(
    r"(^|_)(TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|ACCESS_KEY(_ID)?|SECRET_KEY|PRIVATE_KEY|PAT"
    r"|[A-Z]+_PWD|[A-Z]+_PASS)(_?\d+)?$",
    re.IGNORECASE,
)
_VOCABULARY = re.compile(
    r"(^|_)(PAD|EOS|BOS|UNK|SEP|CLS|MASK|STOP|START|END|NEXT|MAX|MIN|PER|NEW|SPECIAL|IMAGE)_TOKEN$",
    re.IGNORECASE,
)
"""A token of a tokenizer, not of a service."""
_ASSIGNMENT = re.compile(r"(?:^|(?<=[\s;\"']))-{0,2}([A-Za-z_][\w-]*)=([^\s;\"']+)")


def looks_secret(text: str) -> bool:
    return bool(_FORMS.search(text) or _URL_PASSWORD.search(text))


def names_secret(name: str) -> bool:
    return bool(_NAMES.search(name)) and not _VOCABULARY.search(name)


def without_secrets(text: str) -> str:
    """For whatever is shown to people or written to logs."""
    return _URL_PASSWORD.sub("***", _FORMS.sub("***", text))


def words_with_secrets(words: tuple[str, ...]) -> tuple[int, ...]:
    """Indexes of a command's words that hold one: by form, as `--password=x`, as `NAME=x`, or after `--password`."""
    return tuple(
        index
        for index, word in enumerate(words)
        if looks_secret(word)
        or _assigns_secret(word)
        or (index and _is_value_of_secret(words[index - 1], word))
    )


def _assigns_secret(word: str) -> bool:
    return any(
        names_secret(name.replace("-", "_")) and not _is_reference(value)
        for name, value in _ASSIGNMENT.findall(word)
    )


def _is_value_of_secret(option: str, value: str) -> bool:
    name = option.removeprefix("--")
    return name != option and names_secret(name.replace("-", "_")) and not _is_reference(value)


def _is_reference(value: str) -> bool:
    """A variable, a place to fill in, another option, or nothing."""
    return not value or value[0] in "$<{-"
