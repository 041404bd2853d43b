#!/usr/bin/env bash
# Puts a row for each lock and world of the reference into docs/locks.md, between its two marks.
set -euo pipefail
cd "$(dirname "$0")/.."
summary=results/reference/summary.md
for world in $(sed -n 's/^## Verdicts in world //p' "$summary"); do
	about=$(sed -n "s/^- world $world: //p" "$summary" | tail -n 1)
	printf '\n**World %s**, [scenario by scenario](../%s#verdicts-in-world-%s): %s\n\n' "$world" "$summary" "$world" "$about"
	sed "1,/^## Verdicts in world $world\$/d" "$summary" | sed 1d | sed '/^$/,$d' # the first table below the heading
done | bash results/put.sh docs/locks.md reference
