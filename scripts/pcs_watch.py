"""While CloudFormation waits for AWS PCS, up to hours, somebody has to look at PCS itself: what it works on, and why it
failed. A rollback deletes what failed, and the reason with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from scripts.pcs_status import busy_in_words, errors_in_words, pcs_resources

_POLLS_BETWEEN_LOOKS: Final = 6
_LOOKS_UNTIL_SAID_AGAIN: Final = 10


class PcsWatch:
    """Looks from a thread of its own while it is entered. Refused questions are left: the deploy does not need them."""

    def __init__(self, cloud: Cloud, stacks: tuple[str, ...], say: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._stacks = stacks
        self._say = say
        self._said = ""
        self._looks_since = 0
        self._errors: dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="pcs-watch", daemon=True)

    def __enter__(self) -> PcsWatch:
        if self._stacks:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._stacks:
            self._thread.join()

    @property
    def errors(self) -> tuple[str, ...]:
        """Every ErrorInfo seen, the last one of each resource."""
        return tuple(self._errors[id_] for id_ in sorted(self._errors))

    def look(self) -> None:
        found = [
            one
            for stack in self._stacks
            for one in pcs_resources(self._cloud, cloudformation.resources(self._cloud, stack))
        ]
        for one in found:
            for words in errors_in_words([one]):
                self._errors[one.id] = words
        self._tell(busy_in_words(found))

    def _tell(self, words: str) -> None:
        self._looks_since += 1
        if words and (words != self._said or self._looks_since >= _LOOKS_UNTIL_SAID_AGAIN):
            self._say(f"  AWS PCS: {words}")
            self._looks_since = 0
        self._said = words

    def _watch(self) -> None:
        while not self._over.wait(self._cloud.poll_seconds * _POLLS_BETWEEN_LOOKS):
            try:
                self.look()
            except AwsError as error:
                self._tell(f"could not be asked: {error.message}")
