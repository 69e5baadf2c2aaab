"""The bash texts that go to the login node. Pure; every word that is not ours is quoted here.

Each is one round trip. They use options that Slurm 22.05 and 25.11 both know.
"""

from __future__ import annotations

import base64
import gzip
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scripts.schedulers.slurm_answers import SINFO_FORMAT, SQUEUE_FORMAT

REFUSED: Final = 65
"""Exit code: sbatch said no."""
BUSY: Final = 75
"""Exit code: another launch holds the run's lock."""
UNREACHABLE: Final = 69
"""Exit code: Slurm's controller does not answer."""
JOB_ID_FILE: Final = "job-id"
ENDED_FILE: Final = "ended.json"
LOCK_SECONDS: Final = 60
LOG_BYTES_MAX: Final = 200_000
FAILURES_MAX: Final = 8
"""Nodes whose failures are told: the first ones."""
"""Of all files together in one look: what is longer comes with the next one."""
_ALWAYS: Final = "set -eu -o pipefail\nexport LC_ALL=C\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the runs of a job of one cluster are: its queue, its mark on them and their directory."""

    queue: str
    comment: str
    runs_directory: str
    """Of all jobs: JOB/RUN is below it."""


def comment_of(environment: str) -> str:
    """On every job of the kit: an on-premises Slurm may have jobs of the same name that are not ours."""
    return f"neuronkit:{environment}"


def look_script(place: Place) -> str:
    """Prints lines of squeue, of sinfo and JOB/RUN/FILE:CONTENT of what runs left behind, with lines `--` between."""
    return (
        _ALWAYS
        + f"squeue -h -a -t all -p {shlex.quote(place.queue)} -o {shlex.quote(SQUEUE_FORMAT)}\n"
        + "echo --\n"
        + f"sinfo -h -N -p {shlex.quote(place.queue)} -o {shlex.quote(SINFO_FORMAT)}\n"
        + "echo --\n"
        + f"cd -- {shlex.quote(place.runs_directory)} 2>/dev/null || exit 0\n"
        + "shopt -s nullglob\n"
        + f"files=(*/*/{JOB_ID_FILE} */*/{ENDED_FILE})\n"
        + "if (( ${#files[@]} )); then grep -H '' -- \"${files[@]}\" || [[ $? -eq 1 ]]; fi\n"
    )


def submit_script(
    place: Place, run: str, directory: str, script: str, options: tuple[str, ...], arguments: tuple[str, ...]
) -> str:
    """Prints `found ID` or `submitted ID`. Under a lock on the shared file system: a repeat finds what was submitted.

    Another job's run may have the same name: an id that it has noted is not this run's.
    """
    sbatch = shlex.join([*options, f"--comment={place.comment}", "job.sbatch", *arguments])
    queue, name, comment = (shlex.quote(word) for word in (place.queue, run, place.comment))
    content = base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
    return f"""{_ALWAYS}umask 022
mkdir -p -- {shlex.quote(directory)}
cd -- {shlex.quote(directory)}
note() {{ printf '%s\\n' "$1" >{JOB_ID_FILE}.new; mv -f {JOB_ID_FILE}.new {JOB_ID_FILE}; }}
exec 9>.submit.lock
flock -E {BUSY} -w {LOCK_SECONDS} 9 || exit $?
known=$(cat {JOB_ID_FILE} 2>/dev/null || true)
if [[ -z $known ]]; then
  shopt -s nullglob
  notes=(../../*/{name}/{JOB_ID_FILE} /dev/null)
  queued=$(squeue -h -a -t all -p {queue} -n {name} -o '%i|%k')
  while IFS='|' read -r id comment; do
    if [[ $comment != {comment} ]]; then continue; fi
    elsewhere=0
    grep -qxF -- "$id" "${{notes[@]}}" || elsewhere=$?
    if (( elsewhere > 1 )); then exit {UNREACHABLE}; fi
    if (( elsewhere == 1 )); then known=$id; fi
  done <<<"$queued"
fi
if [[ -n $known ]]; then
  note "$known"
  printf 'found %s\\n' "$known"
  exit 0
fi
printf %s {content} | base64 -d | gzip -dc >job.sbatch.new
mv -f job.sbatch.new job.sbatch
said=$(sbatch --test-only {sbatch} 2>&1 9>&-) || case $said in
  *'Requested node configuration is not available'*)
    # Said of nodes that are only down, too: with all of them up it is true.
    if [[ -z $(sinfo -h -N -p {queue} -t down,drain,fail -o %N) ]]; then printf '%s\\n' "$said" >&2; exit {REFUSED}; fi ;;
  *'Unable to contact'* | *'timed out'*) printf '%s\\n' "$said" >&2; exit {UNREACHABLE} ;;
  *) printf '%s\\n' "$said" >&2; exit {REFUSED} ;;
esac
id=$(sbatch --parsable {sbatch} 2>.sbatch-words 9>&-) || case $(<.sbatch-words) in
  # It may have the job nevertheless: a repeat looks.
  *'Unable to contact'* | *'timed out'*) cat .sbatch-words >&2; exit {UNREACHABLE} ;;
  *) cat .sbatch-words >&2; exit {REFUSED} ;;
esac
id=${{id%%;*}}
note "$id"
printf 'submitted %s\\n' "$id"
"""


def cancel_script(directory: str, job_id: str) -> str:
    """A job that waits has no script that could write down its end."""
    ended = shlex.quote(f"{directory}/{ENDED_FILE}")
    return f"""{_ALWAYS}{_job_line(job_id, "%T")}
if [[ -z $job ]]; then exit 0; fi
scancel {shlex.quote(job_id)}
if [[ $job == PENDING && ! -e {ended} ]]; then
  printf '{{"state": "CANCELLED", "exit_code": null, "attempt": null}}\\n' >{ended}.cancelled
  mv {ended}.cancelled {ended}
fi
"""


def _job_line(job_id: str, columns: str) -> str:
    """Sets `job`; empty when Slurm has forgotten it."""
    return f"""if ! job=$(squeue -h -a -t all -j {shlex.quote(job_id)} -o {shlex.quote(columns)} 2>&1); then
  if [[ $job != *"Invalid job id"* ]]; then printf '%s\\n' "$job" >&2; exit {UNREACHABLE}; fi
  job=
fi"""


def watch_script(directory: str, job_id: str, offsets: Mapping[str, int], only_node: int | None) -> str:
    """Prints frames: a line `job N`, `ended N`, `failures N` or `log N OFFSET PATH NODE`, then N bytes and a newline.

    Files are named by Slurm's number of a node. NODE, as everywhere else, is the rank: with UltraServers another one,
    which `places.ordered` of the attempt tells (RANK NUMBER NAME ...). The job's own log has no number: its NODE is `job`.
    """
    known = " ".join(f"[{shlex.quote(path)}]={offset}" for path, offset in sorted(offsets.items()))
    skip = f"if [[ $node != job && $node != {only_node} ]]; then continue; fi\n  "
    skip = "" if only_node is None else skip
    return f"""{_ALWAYS}shopt -s nullglob
frame() {{ printf '%s %s\\n%s\\n' "$1" "${{#2}}" "$2"; }}
{_job_line(job_id, SQUEUE_FORMAT)}
frame job "$job"
cd -- {shlex.quote(directory)}
frame ended "$(cat {ENDED_FILE} 2>/dev/null || true)"
attempt=$(printf '%s\\n' attempt-* | sort -V | tail -n 1)
declare -A ranks=()
for file in attempt-*/places.ordered; do
  while read -r rank number _; do ranks[${{file%/*}}/$number]=$rank; done <"$file"
done
failures() {{
  sort -n -- "$attempt"/failures/* /dev/null | head -n {FAILURES_MAX} | while read -r since name number code; do
    printf '%s %s %s %s\\n' "$since" "$name" "${{ranks[$attempt/$number]:-$number}}" "$code"
  done
}}
frame failures "$(failures)"
declare -A known=({known})
left={LOG_BYTES_MAX}
for path in job.log attempt-*/node-*.log; do
  if [[ ! -f $path ]]; then continue; fi
  node=${{path##*/}}; node=${{node#node-}}
  node=${{ranks[${{path%/*}}/${{node%.log}}]:-${{node%.log}}}}
  {skip}offset=${{known[$path]:-0}}
  size=$(stat -c %s -- "$path")
  if (( size <= offset || left == 0 )); then continue; fi
  bytes=$(( size - offset < left ? size - offset : left ))
  left=$(( left - bytes ))
  printf 'log %s %s %s %s\\n' "$bytes" "$offset" "$path" "$node"
  tail -c +$(( offset + 1 )) -- "$path" | head -c "$bytes" || [[ $? -eq 141 ]]
  printf '\\n'
done
"""
