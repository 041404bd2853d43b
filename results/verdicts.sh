#!/usr/bin/env bash
# Puts a row for each lock and world of the reference into docs/locks.md, between its two
# marks. Each world's table links to its verdicts by scenario.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/locks.md
for summary in results/reference/*/summary.md; do
	world=$(basename "$(dirname "$summary")")
	printf '\n**World %s**, [scenario by scenario](../%s): %s\n\n' "$world" "$summary" "$(sed -n 5p "$summary")"
	sed '1,/^## Verdicts/d' "$summary" | sed 1d | sed '/^$/,$d' # the first table below the heading
done | bash results/put.sh "$page" reference
