#!/bin/sh
# Put the agent programs that tests run beside Codex into a cache outside the tree, one folder for each lock.
# usage: agents.sh [lock]
# Where there is no npm, or it reaches no packages, it says so in one line; their tests are skipped then.
set -eu
pins=requirements/agents.json
lock=requirements/agents-lock.json
if ! command -v npm > /dev/null; then
  echo "agents        skipped: npm is not here, so Claude Code and OpenCode are not tested"
  exit 0
fi
cache="${XDG_CACHE_HOME:-$HOME/.cache}/teamster/agents"
mkdir -p "$cache"
work=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
# npm makes folders in its home: a home of its own.
npm_quietly() { (cd "$work" && HOME="$work/home" npm "$@" --ignore-scripts --no-audit --no-fund --loglevel=error); }
mkdir "$work/home"
cp "$pins" "$work/package.json"
if [ "${1:-}" = lock ]; then
  npm_quietly install --package-lock-only --omit-lockfile-registry-resolved
  cp "$work/package-lock.json" "$lock"
  exit 0
fi
place="$cache/$(sha256sum "$lock" | cut -c1-16)"
[ -d "$place" ] && exit 0
cp "$lock" "$work/package-lock.json"
began=$(date +%s)
if ! npm_quietly ci > "$work/log" 2>&1; then
  echo "agents        skipped: npm could not fetch Claude Code and OpenCode: $(head -n 1 "$work/log")"
  exit 0
fi
mv "$work/node_modules" "$place" 2> /dev/null || [ -d "$place" ]
printf '%-13s ok  %2d s\n' agents "$(($(date +%s) - began))"
