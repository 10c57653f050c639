#!/bin/sh
# Check that tally.sh counts as wc does.
found=$(sh tally.sh notes/plan.txt)
wanted=$(wc -l <notes/plan.txt)
if [ "$found" -eq "$wanted" ]; then
  echo "check passed: $found lines"
else
  echo "check failed: tally.sh says $found lines, wc says $((wanted))"
  exit 1
fi
