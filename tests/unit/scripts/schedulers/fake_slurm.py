"""Programs that stand in for Slurm's on PATH, so that the texts for the login node run in a real bash without a Slurm.

Every job is a line ID|STATE|NODES|COMMENT|NAME|REASON in `queue`; sbatch adds one, scancel changes one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.schedulers.remote_answer import Answer

_SBATCH = """#!/usr/bin/env bash
directory=$(dirname "$0")/..
name= comment= test= script=
for word in "$@"; do
  case $word in
    --job-name=*) name=${word#*=} ;;
    --comment=*) comment=${word#*=} ;;
    --test-only) test=1 ;;
    --*) ;;
    *) script=${script:-$word} ;;
  esac
done
if [[ -e $directory/refusal ]]; then cat "$directory/refusal" >&2; exit 1; fi
if [[ -n $test ]]; then echo "sbatch: Job 1 to start at once" >&2; exit 0; fi
[[ -s $script ]] || exit 2
id=$(( $(wc -l <"$directory/queue") + 1 ))
echo "$id|PENDING|4|$comment|$name|Resources" >>"$directory/queue"
echo "$id;cluster"
if [[ -e $directory/die-after-sbatch ]]; then rm "$directory/die-after-sbatch"; kill -9 "$PPID"; fi
"""
_SQUEUE = """#!/usr/bin/env bash
directory=$(dirname "$0")/..
if [[ -e $directory/down ]]; then echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; fi
name= id= columns=
while (( $# )); do
  case $1 in
    -n) name=$2; shift ;;
    -j) id=$2; shift ;;
    -o) columns=$2; shift ;;
  esac
  shift
done
if [[ -n $id ]] && ! grep -q "^$id|" "$directory/queue"; then
  echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1
fi
while IFS='|' read -r job state nodes comment called reason; do
  if [[ -n $name && $called != "$name" || -n $id && $job != "$id" ]]; then continue; fi
  line=${columns//%i/$job}; line=${line//%T/$state}; line=${line//%D/$nodes}
  line=${line//%k/$comment}; line=${line//%j/$called}; line=${line//%r/$reason}
  echo "$line"
done <"$directory/queue"
"""
_SCANCEL = """#!/usr/bin/env bash
sed -i "s/^$1|[A-Z_]*|/$1|CANCELLED|/" "$(dirname "$0")/../queue"
"""
_SINFO = """#!/usr/bin/env bash
cat "$(dirname "$0")/../nodes"
"""


@dataclass
class FakeSlurm:
    """Also the transport to it. `before` and `after` a text the client may be killed."""

    directory: Path
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = self.directory / "bin"
        programs.mkdir(parents=True)
        for name, text in {
            "sbatch": _SBATCH,
            "squeue": _SQUEUE,
            "scancel": _SCANCEL,
            "sinfo": _SINFO,
        }.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        for name in ("queue", "nodes"):
            (self.directory / name).touch()

    def run(self, script: str) -> Answer:
        self.texts.append(script)
        self.before()
        done = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        self.after()
        return Answer(done.stdout, done.stderr.decode(), done.returncode)

    def jobs(self) -> list[list[str]]:
        return [line.split("|") for line in (self.directory / "queue").read_text().splitlines()]

    def names(self) -> list[str]:
        return [job[4] for job in self.jobs()]

    def set_state(self, name: str, state: str, reason: str = "None") -> None:
        changed = [[*j[:1], state, *j[2:5], reason] if j[4] == name else j for j in self.jobs()]
        self._write(changed)

    def forget(self, name: str) -> None:
        """As Slurm does after MinJobAge; ids are not given anew."""
        self._write([[*j[:4], "?", *j[5:]] if j[4] == name else j for j in self.jobs()])

    def _write(self, jobs: list[list[str]]) -> None:
        (self.directory / "queue").write_text("".join("|".join(job) + "\n" for job in jobs))
