"""A job's package: its source directory and its runtime files in one archive, the same bytes for the same content.

    source/…                       the user's files; the command runs here
    neuronkit/node-bootstrap.sh    started on each node
    neuronkit/neuron.env
    neuronkit/ultraserver.py       where the nodes are members of UltraServers

The package is known by the hash of the uncompressed archive: the compressed bytes depend on the zlib at hand.
"""

from __future__ import annotations

import fnmatch
import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stacks.domain.errors import InputError
from stacks.domain.names import package_key
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.neuron_env import neuron_env
from stacks.domain.render.node_bootstrap import node_bootstrap
from stacks.domain.render.node_programs import node_programs
from stacks.domain.shipped_jobs import is_shipped, shipped_directory, shipped_jobs

IGNORE_FILE = ".neuronkitignore"
IGNORED_ALWAYS = (".git", "__pycache__", ".venv", IGNORE_FILE)
PACKAGE_BYTES_MAX = 200 * 1000 * 1000
"""Of the files before compression: code travels in a package, data and weights by `data`."""


@dataclass(frozen=True, slots=True)
class JobPackage:
    sha256: str
    """Of the uncompressed archive: what the package loader checks."""
    key: str
    """Its place in the environment's bucket."""
    content: bytes
    """A .tar.gz."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    path: Path
    mode: int
    """As lstat tells it, with the kind of file."""
    size_bytes: int


def resolve_source(source: str, environment_file_directory: Path) -> Path:
    """The directory that a job's `source` names; InputError if there is none."""
    if is_shipped(source):
        directory = shipped_directory(source)
        if not directory.is_dir():
            raise InputError(f"no shipped job is called {source}", f"there is: {', '.join(shipped_jobs())}")
        return directory
    directory = environment_file_directory / source
    if not directory.exists():
        raise InputError(
            f"{directory}: no such directory", "the job's `source` is relative to the environment file"
        )
    if not directory.is_dir():
        raise InputError(f"{directory}: not a directory", "name the directory that holds the job's files")
    return directory


def pack(job: JobPlan, plan: Plan, source_directory: Path) -> JobPackage:
    """Raises InputError with every file that cannot travel."""
    members = _members(source_directory)
    _check(members, source_directory)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add_text(tar, "neuronkit/neuron.env", neuron_env(plan, job), 0o644)
        _add_text(tar, "neuronkit/node-bootstrap.sh", node_bootstrap(plan, job), 0o755)
        for name, text in node_programs(job):
            _add_text(tar, f"neuronkit/{name}", text, 0o644)
        for member in members:
            _add_member(tar, member)
    sha256 = hashlib.sha256(archive.getvalue()).hexdigest()
    return JobPackage(sha256, package_key(sha256), gzip.compress(archive.getvalue(), mtime=0))


def _members(directory: Path) -> tuple[_Member, ...]:
    """Everything below the directory that is not ignored, ordered by name, parents first."""
    try:
        patterns = _ignore_patterns(directory)
        found = list(_walk(directory, PurePosixPath(), patterns))
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from error
    return tuple(sorted(found, key=lambda member: member.name))


def _walk(directory: Path, below: PurePosixPath, patterns: tuple[str, ...]) -> Iterator[_Member]:
    for entry in os.scandir(directory):
        name = below / entry.name
        if _is_ignored(name, patterns):
            continue
        status = entry.stat(follow_symlinks=False)
        yield _Member(f"source/{name}", Path(entry.path), status.st_mode, status.st_size)
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(Path(entry.path), name, patterns)


def _ignore_patterns(directory: Path) -> tuple[str, ...]:
    """One pattern a line, as fnmatch reads it; `#` starts a comment."""
    try:
        lines = (directory / IGNORE_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError as error:
        raise InputError(f"{directory / IGNORE_FILE}: not UTF-8 text", "one pattern a line") from error
    stripped = (line.strip().removesuffix("/") for line in lines)
    return tuple(line for line in stripped if line and not line.startswith("#"))


def _is_ignored(name: PurePosixPath, patterns: tuple[str, ...]) -> bool:
    """A pattern is tried on the name alone and on the whole path."""
    if name.name in IGNORED_ALWAYS:
        return True
    return any(fnmatch.fnmatchcase(name.name, p) or fnmatch.fnmatchcase(str(name), p) for p in patterns)


def _check(members: tuple[_Member, ...], directory: Path) -> None:
    if not any(stat.S_ISREG(member.mode) for member in members):
        raise InputError(
            f"{directory}: there is no file to run in it", f"is everything named in {IGNORE_FILE}?"
        )
    problems = [problem for member in members if (problem := _problem(member, directory.resolve()))]
    if problems:
        raise InputError("\n".join(problems), f"remove what cannot travel, or name it in {IGNORE_FILE}")
    size = sum(member.size_bytes for member in members if stat.S_ISREG(member.mode))
    if size > PACKAGE_BYTES_MAX:
        largest = max(members, key=lambda member: member.size_bytes)
        raise InputError(
            f"{directory}: {size / 1e6:.0f} MB; a package takes {PACKAGE_BYTES_MAX / 1e6:.0f} MB; "
            f"the largest file is {largest.path} with {largest.size_bytes / 1e6:.0f} MB",
            f"name what the nodes do not need in {IGNORE_FILE}; give data by the job's `data`",
        )


def _problem(member: _Member, directory: Path) -> str | None:
    if stat.S_ISREG(member.mode) or stat.S_ISDIR(member.mode):
        return None
    if not stat.S_ISLNK(member.mode):
        return f"{member.path}: not a file, directory or symbolic link"
    target = member.path.readlink()
    if target.is_absolute():
        return f"{member.path}: links to {target}, an absolute path that no node has"
    try:
        resolved = member.path.resolve(strict=True)
    except (OSError, RuntimeError):
        return f"{member.path}: links to {target}, which is not there"
    if not resolved.is_relative_to(directory):
        return f"{member.path}: links to {target}, outside of the source directory"
    return None


def _add_text(tar: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    content = text.encode()
    header = _header(name, mode)
    header.size = len(content)
    tar.addfile(header, io.BytesIO(content))


def _add_member(tar: tarfile.TarFile, member: _Member) -> None:
    if stat.S_ISLNK(member.mode):
        header = _header(member.name, 0o777)
        header.type, header.linkname = tarfile.SYMTYPE, member.path.readlink().as_posix()
        tar.addfile(header)
    elif stat.S_ISDIR(member.mode):
        header = _header(member.name, 0o755)
        header.type = tarfile.DIRTYPE
        tar.addfile(header)
    else:
        header = _header(member.name, 0o755 if member.mode & stat.S_IXUSR else 0o644)
        content = _read(member.path)
        header.size = len(content)
        tar.addfile(header, io.BytesIO(content))


def _header(name: str, mode: int) -> tarfile.TarInfo:
    """Time, owner and group stay 0, as TarInfo has them: they say nothing about the content."""
    header = tarfile.TarInfo(name)
    header.mode = mode
    return header


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
