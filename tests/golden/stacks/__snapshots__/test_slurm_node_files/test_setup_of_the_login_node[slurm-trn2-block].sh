#!/bin/bash
# Written by neuronkit from the environment file: change that, not this. AWS PCS runs it as root at every boot, before slurmd
# starts, and ends the node when it fails: what it says is in /var/log/amazon/pcs/lifecycle/actions/NodeBootstrapped.
# Arguments: the file system's id
set -euo pipefail

mount_point=/shared
owner=ubuntu

main() {
  mount_shared "$@"
  make_runs_directory
}

# The name of a file system that was made a minute ago may not be known yet.
mount_shared() {
  local attempt
  if mountpoint --quiet "$mount_point"; then
    return
  fi
  install -d "$mount_point"
  for ((attempt = 1; attempt <= 20; attempt++)); do
    if mount -t efs -o tls "$1:/" "$mount_point"; then
      return
    fi
    sleep 6
  done
  echo "neuronkit: $1 cannot be mounted at $mount_point" >&2
  return 1
}

# The root of a new file system is root's; jobs are not.
make_runs_directory() {
  install -d -o "$owner" -g "$owner" "$mount_point/neuronkit"
}

main "$@"
