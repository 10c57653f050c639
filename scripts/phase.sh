#!/bin/sh
# Run one phase and say so in one line; what it printed is shown only when it fails.
# usage: phase.sh NAME COMMAND [ARGUMENT...]
set -u
name=$1
shift
began=$(date +%s)
if output=$("$@" 2>&1); then
  printf '%-13s ok  %2d s\n' "$name" "$(($(date +%s) - began))"
else
  status=$?
  printf '%s\n%-13s failed: %s\n' "$output" "$name" "$*" >&2
  exit "$status"
fi
