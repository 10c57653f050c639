#!/bin/sh
# Renew the hashed pins. They name no address, so that each machine uses the index it is set up for.
# usage: BIN=.venv/bin requirements.sh
set -eu
# $1: the file to write; the rest: where the wishes stand.
renew() {
  pins=$1
  shift
  "$BIN/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
    --no-emit-index-url --no-emit-find-links --no-annotate --no-header -o "$pins" "$@"
  echo "renewed $pins"
}
renew requirements/uv.txt requirements/uv.in
renew requirements/base.txt pyproject.toml --extra codex --extra postgres requirements/base.in
renew requirements/dev.txt pyproject.toml --extra codex --extra postgres --group dev requirements/base.in -c requirements/base.txt
