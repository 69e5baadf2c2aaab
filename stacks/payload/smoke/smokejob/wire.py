"""Messages between processes: a small JSON header and a block of bytes, each with its length in front."""

import json
import socket
import struct
from typing import Any

_LENGTHS = struct.Struct("!II")
_HEADER_LIMIT = 1 << 16
_PAYLOAD_LIMIT = 1 << 28


class ClosedError(Exception):
    """The other side is gone or silent; the message completes the sentence "rank 2 …"."""


def send_message(connection: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    encoded = json.dumps(header).encode()
    try:
        connection.sendall(_LENGTHS.pack(len(encoded), len(payload)) + encoded)
        connection.sendall(payload)
    except TimeoutError as error:
        raise ClosedError(f"took nothing for {connection.gettimeout():g} s") from error
    except OSError as error:
        raise ClosedError(f"ended or was cut off ({error.strerror})") from error


def receive_message(connection: socket.socket) -> tuple[dict[str, Any], bytearray]:
    header_length, payload_length = _LENGTHS.unpack(_receive_exactly(connection, _LENGTHS.size))
    if header_length > _HEADER_LIMIT or payload_length > _PAYLOAD_LIMIT:
        raise ClosedError("sent something that is not a message of this job")
    try:
        header = json.loads(_receive_exactly(connection, header_length))
    except ValueError as error:
        raise ClosedError("sent something that is not a message of this job") from error
    if not isinstance(header, dict):
        raise ClosedError("sent something that is not a message of this job")
    return header, _receive_exactly(connection, payload_length)


def _receive_exactly(connection: socket.socket, length: int) -> bytearray:
    content = bytearray(length)
    view, received = memoryview(content), 0
    try:
        while received < length:
            count = connection.recv_into(view[received:])
            if not count:
                raise ClosedError("ended or was cut off (connection closed)")
            received += count
    except TimeoutError as error:
        raise ClosedError(f"sent nothing for {connection.gettimeout():g} s") from error
    except OSError as error:
        raise ClosedError(f"ended or was cut off ({error.strerror})") from error
    return content
