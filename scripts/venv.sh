#!/bin/sh
# Make a virtual environment with the first Python that fits; PYTHON=... names one.
# usage: venv.sh FOLDER
set -eu
folder=$1
fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3 python3.13 python3.12 python3.11; fi
for python in "$@"; do
  if command -v "$python" >/dev/null 2>&1 && "$python" -c "$fits" 2>/dev/null; then
    exec sh "$(dirname "$0")/phase.sh" venv "$python" -m venv "$folder"
  fi
done
found=$("$1" --version 2>/dev/null) || found="no $1"
echo "Teamster needs Python 3.11 to 3.13 and found $found: install one, or name it: make PYTHON=/path/to/python3.12" >&2
exit 1
