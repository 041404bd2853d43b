#!/usr/bin/env bash
# Puts the verdicts of the reference matrices into the README, between its two marks.
set -euo pipefail
cd "$(dirname "$0")/.."
table=$(mktemp)
trap 'rm -f "$table"' EXIT
for world in results/reference/*/; do
	name=$(basename "$world")
	printf '\n[World %s](results/reference/%s/summary.md), %s\n\n' "$name" "$name" "$(sed -n 5p "$world/summary.md")"
	sed -n '/^## Verdicts/,/^○/p' "$world/summary.md" | grep '^|'
done >"$table"
awk -v table="$table" '
	/<!-- reference -->/ { print; while ((getline line < table) > 0) print line; print ""; skip = 1 }
	/<!-- end of reference -->/ { skip = 0 }
	!skip { print }
	' README.md | awk '!(/<!-- reference -->/ && seen++)' >README.md.new
mv README.md.new README.md
