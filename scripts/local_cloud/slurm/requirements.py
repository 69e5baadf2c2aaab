"""What a private Slurm needs of this machine, and what to do where it is not there."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys

from stacks.domain.errors import WorldError

_PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scontrol", "sinfo", "munged", "unshare", "nsenter", "chroot")
COMMANDS = ("sacct", "salloc", "sbatch", "sbcast", "scancel", "scontrol", "sinfo", "squeue", "srun", "sstat")
"""Slurm's commands of users."""
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_INSTALL = (
    "install Slurm and MUNGE, for example `apt-get install -y --no-install-recommends slurm-wlm munge` (Debian, Ubuntu) "
    "or `dnf install -y slurm slurm-slurmctld slurm-slurmd munge` (Fedora, EPEL); none of their services has to run"
)


class SlurmMissingError(WorldError):
    """This machine cannot run a private Slurm."""


def search_path() -> str:
    """PATH with the directories of daemons, which a user's PATH often lacks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *_SBIN])


def missing_programs() -> tuple[str, ...]:
    return tuple(name for name in _PROGRAMS if shutil.which(name, path=search_path()) is None)


def check() -> None:
    """Raises SlurmMissingError with what is missing and how to get it."""
    if sys.platform != "linux":
        raise SlurmMissingError(
            "a private Slurm needs Linux's namespaces", "run this part on Linux, or in a Linux container"
        )
    missing = missing_programs()
    if missing:
        raise SlurmMissingError(f"a private Slurm needs {', '.join(missing)}, not installed here", _INSTALL)
    refusal = _namespace_refusal()
    if refusal:
        raise SlurmMissingError(
            f"a private Slurm's virtual nodes need mount and process namespaces, refused here: {refusal}",
            "run as root, or install uidmap with a range for this user in /etc/subuid and /etc/subgid, and allow user "
            "namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0); "
            "a container needs CAP_SYS_ADMIN",
        )


def namespaces() -> tuple[str, ...]:
    """Options of `unshare`; without root, a user namespace makes this user its root.

    Slurm's daemons set supplementary groups, which only a namespace with a range of ids allows (`--map-auto`).
    """
    own_user = () if os.geteuid() == 0 else ("--user", "--map-root-user", "--map-auto")
    return (*own_user, "--mount", "--uts", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")


@functools.cache
def _namespace_refusal() -> str:
    """The system's words; empty where it works."""
    tried = subprocess.run(
        ["unshare", *namespaces(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return tried.stderr.strip() if tried.returncode else ""
