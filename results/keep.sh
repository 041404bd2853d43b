#!/usr/bin/env bash
# keep.sh MATRIX DIR: puts what is worth keeping of a matrix into DIR: its verdicts and figures, its summary, and of
# the runs the summaries of those that were not as expected. The others are their seeds, and `lockbench report DIR`
# writes the page. A world or a scenario that the matrix did not run, or that ran later in DIR, stays as it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
from=${1%/} kept=$2
mkdir -p build
work=$(mktemp -d build/keep.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/now"
cp "$from"/campaign.json "$work/now"
for result in "$from"/*/*/*/result.json; do
	if [ -e "$result" ] && grep -q '^ "as_expected": false' "$result"; then
		run=$(dirname "$result")
		mkdir -p "$work/now/${run#"$from"/}"
		cp "$run"/summary.md "$work/now/${run#"$from"/}"
	fi
done

# Rows of which no run is there stand as they were written.
parts=("$work/now")
if [ -e "$kept"/campaign.json ]; then parts=("$kept" "$work/now"); fi # worlds stay in their order
code=0
build/lockbench merge "${parts[@]}" --out "$work/all" || code=$?
if [ ! -e "$work/all/summary.md" ]; then exit "$code"; fi # it has said why; other codes are what came out
rm "$work"/all/{report.html,junit.xml}
rm -rf "$kept"
mv "$work/all" "$kept"
