#!/usr/bin/env bash
# keep.sh MATRIX DIR: puts what is worth keeping of a matrix into DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
from=$1 to=$2
rm -rf "$to"
mkdir -p "$to"
cp "$from"/matrix.json "$from"/junit.xml "$from"/badge.json "$to"
for result in "$from"/*/*/result.json; do
	run=$(dirname "$result")
	into=$to/${run#"$from"/}
	mkdir -p "$into"
	cp "$run"/summary.md "$run"/plan.yaml "$run"/scenario.yaml "$run"/result.json "$into"
done
# The page is written once more where it will lie, so that its links lead to what was kept.
build/lockbench report "$to"
rm -f "$to"/*/*/result.json # half a megabyte each; matrix.json has the figures
