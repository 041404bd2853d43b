#!/usr/bin/env bash
# keep.sh ACCEPTANCE DIR: puts what is worth keeping of an acceptance into DIR: what came
# out, the matrix of each world with its page, and of the runs the first of each scenario
# and all that were not as expected. The others are their seeds. A world that the
# acceptance did not run, or ran before that in DIR, stays as it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
from=${1%/} kept=$2
mkdir -p build
work=$(mktemp -d build/keep.XXXXXX)
trap 'rm -rf "$work"' EXIT
to=$work/now
mkdir "$to"
cp "$from"/acceptance.json "$to"
for matrix in "$from"/*/matrix.json; do
	[ -e "$matrix" ] || continue # no world could be used
	world=$(dirname "$matrix")
	page=$to/${world##*/}
	mkdir -p "$page"
	cp "$world"/matrix.json "$page"
	for scenario in "$world"/*/; do
		first=yes
		for result in "$scenario"*/result.json; do
			[ -e "$result" ] || continue # killed before it could write one
			run=$(dirname "$result")
			into=$page/${run#"$world"/}
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
	build/lockbench report "$page"
	rm -f "$page"/*/*/result.json
	find "$page" -type d -empty -delete
done

parts=("$to")
if [ -e "$kept"/acceptance.json ]; then parts=("$kept" "$to"); fi # worlds stay in their order
code=0
build/lockbench merge "${parts[@]}" --out "$work/all" || code=$?
if [ ! -e "$work/all/acceptance.md" ]; then exit "$code"; fi # it has said why; others are what came out
sed -i '/^What is missing: /,$d' "$work/all/acceptance.md"    # from what is kept nothing can go on
rm -rf "$kept"
mv "$work/all" "$kept"
