#!/bin/bash
# The conformance suite for each library and each of its calls, on the first topology of each. Each result is a file
# of its own below the folder, and a result that is there is kept, so the script can be interrupted.
#
#	results/doors.sh /tmp/doors                       all libraries
#	results/doors.sh /tmp/doors redisson curator      only these
#	go run ./internal/docgen -doors /tmp/doors
set -euo pipefail
out=$1
shift
lockbench=${LOCKBENCH:-build/lockbench}
mkdir -p "$out"
"$lockbench" list libraries --json | jq -r '.libraries[] | .name as $l | .topologies[0] as $t
	| if .calls then .calls[] | "\($l) \($t) \(.)" else "\($l) \($t)" end' |
	while read -r lock topology call; do
		if (($#)) && [[ " $* " != *" $lock "* ]]; then
			continue
		fi
		use=$lock${call:+/call=$call} file=$out/$lock${call:+.$call}.json
		[ ! -s "$file" ] || continue
		# 0, 1 and 2 are results.
		code=0
		"$lockbench" conform "$use" --world local --topology "$topology" --json >"$file.new" 2>"${file%.json}.log" </dev/null || code=$?
		if ((code <= 2)); then
			mv "$file.new" "$file"
		else
			rm -f "$file.new"
		fi
		echo "$use: exit $code"
	done
