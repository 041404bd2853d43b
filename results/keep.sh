#!/usr/bin/env bash
# keep.sh ACCEPTANCE DIR: puts what is worth keeping of an acceptance into DIR: what came
# out, the matrix of each world with its page, and of the runs the first of each scenario
# and all that were not as expected. The others are their seeds.
set -euo pipefail
cd "$(dirname "$0")/.."
from=${1%/} to=$2
rm -rf "$to"
mkdir -p "$to"
cp "$from"/acceptance.md "$from"/acceptance.json "$to"
for matrix in "$from"/*/matrix.json; do
	[ -e "$matrix" ] || continue # no world could be used
	world=$(dirname "$matrix")
	kept=$to/${world##*/}
	mkdir -p "$kept"
	cp "$world"/matrix.json "$kept"
	for scenario in "$world"/*/; do
		first=yes
		for result in "$scenario"*/result.json; do
			[ -e "$result" ] || continue # killed before it could write one
			run=$(dirname "$result")
			into=$kept/${run#"$world"/}
			mkdir -p "$into"
			cp "$result" "$into"
			if [ -n "$first" ] || grep -q '^ "as_expected": false' "$result"; then
				cp "$run"/summary.md "$run"/plan.yaml "$run"/scenario.yaml "$into"
			fi
			first=
		done
	done
	# The page is written once more where it will lie, so that its links lead to what was
	# kept. The results are half a megabyte each, and matrix.json has their figures.
	build/lockbench report "$kept"
	rm -f "$kept"/*/*/result.json
	find "$kept" -type d -empty -delete
done
