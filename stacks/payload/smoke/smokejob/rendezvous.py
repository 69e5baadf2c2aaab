"""How the processes find each other: all others connect to rank 0, which lets in only members of its own run."""

import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smokejob.environment import JobEnvironment
from smokejob.errors import InputError, PeerError
from smokejob.group import Group, Peer, lost
from smokejob.wire import ClosedError, receive_message, send_message

_HELLO_SECONDS = 5.0
_RETRY_SECONDS = 0.1
_LONGEST_RETRY_SECONDS = 2.0
_VANISHED_SECONDS = 40
_WHAT_TO_CHECK = (
    "check that every node of the run started, and that the security group of their network interfaces lets them "
    "reach each other (a rule that allows the group itself, in and out; AWS Batch gives multi-node jobs the VPC's "
    "default group where the compute environment names none)"
)


@dataclass(frozen=True, slots=True)
class Meeting:
    """`agreed` is what every process must have been started with alike; `say` prints a line."""

    environment: JobEnvironment
    agreed: dict[str, Any]
    rendezvous_seconds: float
    peer_seconds: float
    say: Callable[[str], None]

    @property
    def place(self) -> tuple[str, int]:
        return self.environment.main_address, self.environment.rendezvous_port


def join(meeting: Meeting) -> Group:
    """Returns at every process once all are there."""
    environment = meeting.environment
    peers: list[Peer] = []
    if environment.processes > 1:
        peers = _gather(meeting) if environment.rank == 0 else [_reach_main(meeting)]
    # Rank 0 hears from everybody and knows who is silent, so it is the first to give up, and says so to the others.
    patience_seconds = meeting.peer_seconds if environment.rank == 0 else 2 * meeting.peer_seconds
    for peer in peers:
        _watch_the_line(peer.connection, patience_seconds)
    return Group(environment.rank, environment.processes, peers)


def _watch_the_line(connection: socket.socket, patience_seconds: float) -> None:
    """A node that vanishes without a word is noticed within _VANISHED_SECONDS, however long a step takes.

    That bounds how long rank 0 may leave a message unread as well: `--step-seconds` stays below it.
    """
    connection.settimeout(patience_seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    keepalive = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_USER_TIMEOUT": _VANISHED_SECONDS * 1000}
    for option, value in keepalive.items():
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _gather(meeting: Meeting) -> list[Peer]:
    """All the others, by rank, told to start."""
    joined: dict[int, Peer] = {}
    try:
        with _listen(meeting) as listener:
            _admit_all(meeting, listener, joined)
        for peer in joined.values():
            _tell_to_start(peer)
    except PeerError as error:
        Group(0, meeting.environment.processes, list(joined.values())).close(str(error))
        raise
    return [joined[rank] for rank in sorted(joined)]


def _listen(meeting: Meeting) -> socket.socket:
    address, port = meeting.place
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=meeting.environment.processes)
    except OSError as error:
        raise InputError(
            f"rank 0 cannot listen on {address}:{port} ({error.strerror}); NEURONKIT_MAIN_ADDRESS must be an address of "
            "rank 0's own machine, and NEURONKIT_RENDEZVOUS_PORT a port that nothing else uses there"
        ) from error


def _admit_all(meeting: Meeting, listener: socket.socket, joined: dict[int, Peer]) -> None:
    deadline = time.monotonic() + meeting.rendezvous_seconds
    while len(joined) < meeting.environment.processes - 1:
        lines = {peer.connection: peer for peer in joined.values()}
        ready, _, _ = select.select([listener, *lines], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise _not_all_came(meeting, joined)
        for connection in ready:
            # A member has nothing to say before the start: what there is to read is the end of its connection.
            if connection in lines:
                raise lost(lines[connection], "ended or was cut off before the run started")
        peer = _admit(meeting, *listener.accept(), joined)
        if peer:
            joined[peer.rank] = peer


def _admit(meeting: Meeting, connection: socket.socket, remote: Any, joined: dict[int, Peer]) -> Peer | None:
    """A member, or None for a stranger. Raises PeerError for a member that was started with other settings."""
    connection.settimeout(_HELLO_SECONDS)
    try:
        hello, _ = receive_message(connection)
        stranger = _why_stranger(meeting, hello, joined)
        difference = "" if stranger else _difference(meeting.agreed, hello.get("agreed"))
        refusal = stranger or difference
        send_message(connection, {"refused": refusal} if refusal else {"welcome": True})
    except ClosedError as error:
        stranger, refusal = f"it {error}", "no hello"
    if not refusal:
        return Peer(hello["rank"], remote[0], connection)
    connection.close()
    if stranger:
        meeting.say(f"warning: turned away {remote[0]}: {stranger}")
        return None
    raise PeerError(f"rank {hello['rank']} at {remote[0]} was started differently: {difference}")


def _why_stranger(meeting: Meeting, hello: dict[str, Any], joined: dict[int, Peer]) -> str:
    """Empty for a member of this run."""
    if hello.get("run") != meeting.environment.run_id:
        return f"run {hello.get('run')!r} is not the run of rank 0, {meeting.environment.run_id!r}"
    rank, processes = hello.get("rank"), meeting.environment.processes
    if not isinstance(rank, int) or not 0 < rank < processes:
        return f"rank {rank!r} is not one of 1 to {processes - 1}"
    return f"there are two processes with rank {rank}" if rank in joined else ""


def _difference(ours: dict[str, Any], theirs: Any) -> str:
    if not isinstance(theirs, dict):
        return "it did not say how"
    names = [name for name in ours if ours[name] != theirs.get(name)]
    return ", ".join(f"{name} is {theirs.get(name)!r} there and {ours[name]!r} at rank 0" for name in names)


def _not_all_came(meeting: Meeting, joined: dict[int, Peer]) -> PeerError:
    processes = meeting.environment.processes
    missing = ", ".join(str(rank) for rank in range(1, processes) if rank not in joined)
    return PeerError(
        f"rank 0 waited {meeting.rendezvous_seconds:g} s on {_shown(meeting)} for {processes - 1} others, but these did "
        f"not come: rank {missing}; {_WHAT_TO_CHECK}"
    )


def _tell_to_start(peer: Peer) -> None:
    try:
        send_message(peer.connection, {"start": True})
    except ClosedError as error:
        raise lost(peer, str(error)) from error


def _reach_main(meeting: Meeting) -> Peer:
    deadline = time.monotonic() + meeting.rendezvous_seconds
    pause, why = _RETRY_SECONDS, "no attempt was made"
    while (left := deadline - time.monotonic()) > 0:
        try:
            return _introduce(
                meeting, socket.create_connection(meeting.place, timeout=min(left, _HELLO_SECONDS))
            )
        except ClosedError as error:
            why = f"it {error}"
        except OSError as error:
            why = error.strerror or str(error)
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_RETRY_SECONDS)
    raise PeerError(
        f"rank {meeting.environment.rank} could not join rank 0 at {_shown(meeting)} within "
        f"{meeting.rendezvous_seconds:g} s (last: {why}); {_WHAT_TO_CHECK}"
    )


def _introduce(meeting: Meeting, connection: socket.socket) -> Peer:
    """Raises ClosedError where another try may help, PeerError where rank 0 refuses or gives up."""
    rank = meeting.environment.rank
    main = Peer(0, meeting.environment.main_address, connection)
    try:
        send_message(connection, {"run": meeting.environment.run_id, "rank": rank, "agreed": meeting.agreed})
        answer, _ = receive_message(connection)
    except ClosedError:
        connection.close()
        raise
    if "welcome" not in answer:
        connection.close()
        raise PeerError(
            f"{main} refused rank {rank}: {answer.get('refused', 'it is not a rank 0 of this job')}"
        )
    connection.settimeout(meeting.rendezvous_seconds)
    _wait_for_start(main)
    return main


def _wait_for_start(main: Peer) -> None:
    try:
        order, _ = receive_message(main.connection)
    except ClosedError as error:
        raise lost(main, f"{error} before the run started") from error
    if "start" not in order:
        raise PeerError(f"{main} ended the run: {order.get('ended', 'no reason given')}")


def _shown(meeting: Meeting) -> str:
    return "{}:{}".format(*meeting.place)
