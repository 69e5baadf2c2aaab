"""Only the processes of a run come together, all of them, or a person is told what to look at."""

import socket
import time

from tests.integration.smoke.job import MAIN_ADDRESS, SHORT, free_port


def connect(port: int) -> socket.socket:
    deadline = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection((MAIN_ADDRESS, port), timeout=5)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_those_who_come_late_are_waited_for(job):
    port = str(free_port())
    early = job.start(2, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port)
    time.sleep(1)
    late = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=port)
    assert early.wait() + late.wait() == [0, 0]


def test_another_runs_process_is_turned_away(job, new_job):
    port = str(free_port())
    main = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=port)
    stray = new_job("other").start(2, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port, RUN_ID="another-run")
    assert stray.wait(10) == [3]
    assert "run 'another-run' is not the run of rank 0, 'smoke-test'" in stray.errors(1)
    main.wait_for("turned away 127.0.0.1")
    member = job.start(2, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port)
    assert main.wait() + member.wait() == [0, 0]
    assert len(job.losses()) == 12


def test_noise_at_the_door_does_no_harm(job):
    port = free_port()
    main = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=str(port))
    for noise in (
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 64,
        b"\0\0\0\x02\0\0\0\0[]",
        b"\0\0\0\x02\0\0\0\0{}",
    ):
        with connect(port) as stranger:
            stranger.sendall(noise)
            stranger.shutdown(socket.SHUT_WR)
            stranger.settimeout(5)
            try:
                while stranger.recv(1000):
                    pass
            except ConnectionResetError:
                pass
    member = job.start(2, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=str(port))
    assert main.wait() + member.wait() == [0, 0]
    assert main.output().count("turned away") == 5


def test_a_rank_that_is_there_twice(job, new_job):
    port = str(free_port())
    main = job.start(3, *SHORT, ranks=range(1), RENDEZVOUS_PORT=port)
    first = job.start(3, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port)
    twins = new_job("twin").start(3, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port)
    main.wait_for("there are two processes with rank 1")
    last = job.start(3, *SHORT, ranks=range(2, 3), RENDEZVOUS_PORT=port)
    assert main.wait() + last.wait() == [0, 0]
    assert sorted(first.wait() + twins.wait()) == [0, 3]


def test_processes_that_were_started_differently(job):
    port = str(free_port())
    main = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=port)
    other = job.start(2, *SHORT, "--steps", "13", ranks=range(1, 2), RENDEZVOUS_PORT=port)
    assert main.wait(10) + other.wait(5) == [3, 3]
    for errors in (main.errors(0), other.errors(1)):
        assert "steps is 13 there and 12 at rank 0" in errors


def test_one_that_never_comes(job):
    attempt = job.start(3, *SHORT, "--rendezvous-seconds", "1.5", ranks=range(2))
    assert attempt.wait(10) == [3, 3]
    for rank in (0, 1):
        assert "these did not come: rank 2" in attempt.errors(rank)
        assert "security group" in attempt.errors(rank)
        assert attempt.errors(rank).count("\n") == 1


def test_a_main_rank_that_never_comes(job):
    port = str(free_port())
    attempt = job.start(2, *SHORT, "--rendezvous-seconds", "1", ranks=range(1, 2), RENDEZVOUS_PORT=port)
    assert attempt.wait(10) == [3]
    assert (
        f"could not join rank 0 at {MAIN_ADDRESS}:{port} within 1 s (last: Connection refused)"
        in attempt.errors(1)
    )
    assert "default group" in attempt.errors(1)
    assert attempt.errors(1).count("\n") == 1


def test_one_that_dies_before_the_start(job):
    attempt = job.start(3, *SHORT, ranks=range(2))
    attempt.wait_for_meeting(others=1)
    time.sleep(0.3)  # it says who it is
    attempt.processes[1].kill()
    assert attempt.processes[0].wait(15) == 3
    assert "before the run started" in attempt.errors(0)


def test_a_port_that_is_taken(job):
    with socket.create_server((MAIN_ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        attempt = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=str(port))
        assert attempt.wait(10) == [2]
    assert f"cannot listen on {MAIN_ADDRESS}:{port}" in attempt.errors()
    assert attempt.errors().count("\n") == 1
