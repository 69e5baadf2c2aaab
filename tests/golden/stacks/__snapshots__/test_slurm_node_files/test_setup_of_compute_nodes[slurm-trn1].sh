#!/bin/bash
# Written by neuronkit from the environment file: change that, not this. AWS PCS runs it as root at every boot, before slurmd
# starts, and ends the node when it fails: what it says is in /var/log/amazon/pcs/lifecycle/actions/NodeBootstrapped.
# Arguments: the file system's id
set -euo pipefail

mount_point=/shared
owner=ubuntu

main() {
  wait_for_devices
  check_efa
  reserve_ports
  mount_shared "$@"
  make_runs_directory
}

# The driver comes with the image; slurmd, told of devices that are not there, waits 20 s and ends.
wait_for_devices() {
  local found waited=0
  modprobe neuron
  while found="$(find /dev -maxdepth 1 -name 'neuron[0-9]*' | wc -l)"; [[ "$found" -lt 16 ]]; do
    if [[ "$waited" -ge 60 ]]; then
      echo "neuronkit: 16 Neuron devices expected, $found found after $waited s" >&2
      return 1
    fi
    sleep 1
    waited=$((waited + 1))
  done
}

check_efa() {
  local found
  found="$(find /dev -path '/dev/infiniband/uverbs*' | wc -l)"
  if [[ "$found" -ne 8 ]]; then
    echo "neuronkit: 8 EFA devices expected, $found found" >&2
    return 1
  fi
}

# A job cannot do this itself, and an outgoing connection may otherwise sit on a port that the job listens on.
reserve_ports() {
  echo 'net.ipv4.ip_local_reserved_ports = 41000,41001,41002,62182' >/etc/sysctl.d/90-neuronkit.conf
  sysctl --quiet --load=/etc/sysctl.d/90-neuronkit.conf
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
