#!/bin/sh
# Play examples/demo: real Codex processes on a scripted model, in demo/. No key, no network; a second run starts afresh.
# usage: demo.sh [STORE], after `make .venv/.base`; exit code 0 when all went as scripted. STORE is sqlite or postgres:
# a server of its own in demo/postgres (programs of a wheel, after `make .venv/.dev`)
set -u
cd "$(dirname "$0")/.." || exit 1
unset TEAMSTER_ROOT TEAMSTER_CODEX TEAMSTER_SLOTS TEAMSTER_SHIFT_TTL_SECONDS
unset TEAMSTER_STORE
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # a hook of git may have called us

teamster=.venv/bin/teamster
demo=demo
root=$demo/root
played=$root.rehearsal # a rehearsal has a root of its own, beside the one that is named
batch=demo
store=${1:-sqlite}
server=$demo/postgres
again="$teamster rehearse $demo/table.yaml --scenario $demo/scenario.yaml --root $root"

heading() {
  if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$1"; else printf '\n%s\n' "$1"; fi
}

fail() {
  printf '\ndemo: %s\n' "$1" >&2
  exit 1
}

# It would stay for an hour, for a harness that comes back.
stop_model() {
  .venv/bin/python -c '
import sys
from pathlib import Path
from teamster.rehearsal import stop_model
stop_model(Path(sys.argv[1]))' "$played/model"
}

stop_server() {
  [ ! -e "$server" ] || .venv/bin/python scripts/private_postgres.py stop "$server"
}

# Print how many items of each status the server holds.
items_of_server() {
  .venv/bin/python -c '
import os, psycopg
with psycopg.connect(os.environ["TEAMSTER_STORE"]) as connection:
    rows = connection.execute("SELECT status, count(*) FROM teamster_rehearsal.items GROUP BY status ORDER BY status")
    print(*(f"  {count} {status}" for status, count in rows), sep="\n")'
}

leave() {
  stop_model
  stop_server
}

# Make a repository of the sample, whatever this machine's configuration says about hooks, signatures and names.
make_repository() {
  (
    cd "$demo/repository" || exit 1
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
    git init -q && git add . && git -c user.name=demo -c user.email=demo@localhost commit -q -m "A script that counts"
  )
}

# Print `job.step status tries` for each step, in the order of expected.txt.
outcome() {
  "$teamster" status "$batch" --json --root "$played" | .venv/bin/python -c '
import json, sys
rows = json.load(sys.stdin)["steps"]
print(*sorted("{job_id}.{step_id} {status} {attempts}".format(**row) for row in rows), sep="\n")'
}

# Print what the agent of a step has reported. $1: job.step
report_of() {
  "$teamster" show "$batch" "$1" --json --root "$played" | .venv/bin/python -c '
import json, sys
print(json.load(sys.stdin)["final"]["summary"])'
}

command -v git >/dev/null || fail "git is not installed"
if [ -e "$demo" ]; then
  [ -f "$demo/scenario.yaml" ] || fail "the folder $demo is not from here: move it away"
  stop_model && stop_server || exit 1
  rm -rf "$demo"
fi
trap leave EXIT
trap 'exit 130' INT TERM
cp -R examples/demo "$demo" && make_repository || fail "the sample repository could not be made"

case $store in
sqlite) ;;
postgres)
  heading "The queue lies on a PostgreSQL server of its own"
  TEAMSTER_STORE=$(.venv/bin/python scripts/private_postgres.py start "$server") || fail "the server could not be started"
  export TEAMSTER_STORE
  echo "\$ export TEAMSTER_STORE='$TEAMSTER_STORE'"
  ;;
*) fail "STORE is $store: choose sqlite or postgres" ;;
esac

heading "Six jobs, twelve steps: real Codex processes on a scripted model"
echo "\$ $again"
"$teamster" rehearse "$demo/table.yaml" --scenario "$demo/scenario.yaml" --root "$root" 2>&1
code=$?
[ "$code" -eq 1 ] || fail "rehearse ended with exit code $code; 1 was scripted, since one step needs attention"
outcome >"$demo/outcome.txt" || fail "the scoreboard can't be read"
diff -u "$demo/expected.txt" "$demo/outcome.txt" || fail "it did not go as scripted: the lines above differ"

heading "A resumed conversation remembers"
rolled=$("$teamster" logs "$batch" memory.roll --raw --root "$played" | sed -n 's/.*rolled \([0-9a-f]\{8\}\)\\n.*/\1/p')
[ -n "$rolled" ] || fail "the log of memory.roll holds no number"
echo "memory.roll rolled a number, and reported: $(report_of memory.roll)"
for step in memory.recall memory.twin; do
  said=$(report_of "$step")
  echo "$step went on from a copy of that conversation, and reported: $said"
  [ "$said" = "I rolled $rolled." ] || fail "the first conversation held $rolled"
done

heading "What mend.fix changed"
cat "$played/runs/$batch/mend/steps/fix/attempts/"*/git_diff.patch || fail "there is no diff"
echo
echo "mend.confirm went on with the conversation of before, on the files as they are now, and reported:"
echo "  $(report_of mend.confirm)"

heading "Every file is as promised"
echo "\$ $teamster verify --root $played"
"$teamster" verify --root "$played" 2>/dev/null || fail "verify is not clean"

if [ "$store" = postgres ]; then
  heading "What the server holds"
  items_of_server || fail "the server can't be asked"
  [ ! -e "$played/db/teamster.sqlite" ] || fail "a part of it lies in SQLite"
fi

heading "All went as scripted: eleven steps succeeded, one needs attention on purpose. Where the files lie:"
cat <<LIST
  $demo/table.yaml, $demo/scenario.yaml     what was asked for, and what the model says
  $played/runs/$batch/              each attempt: report, verdict, diff, events, session
  $played/clones/$batch/            the copy of $demo/repository that the agents worked on
  $played/model/requests.jsonl    what the model was asked
LIST

heading "What to try next"
[ "$store" = sqlite ] || cat <<LIST
Start the server again first, and say so:
  export TEAMSTER_STORE=\$(.venv/bin/python scripts/private_postgres.py start $server)
LIST
cat <<LIST
Look at the step that needs attention, and at what an agent said and ran:
  $teamster show $batch question.decide --root $played
  $teamster logs $batch mend.confirm --root $played
Let the model answer something else in $demo/scenario.yaml, and try that step again:
  $teamster retry $batch question.decide --root $played
  $again
A table of your own, on copies, without a key; then for real, with a key in OPENAI_API_KEY:
  $teamster rehearse YOUR_TABLE.yaml
  $teamster run YOUR_TABLE.yaml
LIST
