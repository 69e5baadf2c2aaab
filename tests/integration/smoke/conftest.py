from collections.abc import Callable, Iterator

import pytest

from tests.integration.smoke.job import SHORT, SmokeJob


@pytest.fixture
def new_job(tmp_path) -> Iterator[Callable[[str], SmokeJob]]:
    jobs: list[SmokeJob] = []

    def make(name: str) -> SmokeJob:
        jobs.append(SmokeJob(tmp_path / name))
        return jobs[-1]

    yield make
    for job in jobs:
        job.stop_everything()


@pytest.fixture
def job(new_job) -> SmokeJob:
    return new_job("job")


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> Callable[[int], dict[int, float]]:
    """The losses of the short run with so many processes, never stopped."""
    known: dict[int, dict[int, float]] = {}

    def losses(processes: int) -> dict[int, float]:
        if processes not in known:
            job = SmokeJob(tmp_path_factory.mktemp("uninterrupted"))
            try:
                job.finish(processes, *SHORT)
            finally:
                job.stop_everything()
            known[processes] = job.losses()
        return known[processes]

    return losses
