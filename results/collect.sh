#!/usr/bin/env bash
# collect.sh KEPT LOCKS DIR...: takes what the runs below some folders show of the locks in LOCKS, a
# list as JSON, into KEPT: a line for each scenario, lock and world. Runs of the same are added up;
# of what the folders do not have the old line stays. A run is what `lockbench run` writes: a folder
# with a result.json. One that was interrupted does not count, nor one whose harness failed, nor one that was
# undecided where another was not. The class is that of exclusion, or else the first check that objects.
# A lock that cannot take part, or that no fault concerns, gets a line without episodes, of the verdict "none".
set -euo pipefail
kept=$1 locks=$2
shift 2
runs=$(find "$@" -name result.json -not -path '*/latest/*')
if [ -z "$runs" ]; then
	echo "collect.sh: no run is below $*; make some with lockbench matrix --locks LOCK,..." >&2
	exit 64
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
xargs -r cat <<<"$runs" | jq -rs --argjson locks "$locks" --slurpfile old "$kept" '
	def but($verdict): map(select(.verdict != $verdict)) as $d | if $d == [] then . else $d end;
	[.[] | select(.interrupted != true) | . as $run | .locks[] | select(.lock | IN($locks[]))
		| if .unsupported != null or any(.checks[]?; .name == "harness" and (.why // "" | contains("no fault of this scenario concerns it")))
			then . + {verdict: "none", violating_episodes: 0, episodes: 0} else . end
		| select(.error == null)
		| {scenario: $run.scenario, lock, world: $run.world, topology: (.topology // ""), verdict,
		   class: (.class // ([.checks[]? | select(.verdict == "violated").name][0] // "")),
		   k: .violating_episodes, n: .episodes, excluded: (.class != null)}]
	| group_by([.scenario, .lock, .world])
	| map(but("none") | but("unknown") | max_by([.verdict == "violated", .excluded]) + {k: map(.k) | add, n: map(.n) | add} | del(.excluded)) as $now
	| ($now | map([.scenario, .lock, .world])) as $measured
	| $now + ($old[0] | map(select([.scenario, .lock, .world] as $cell | $measured | index([$cell]) | not)))
	| sort_by(.scenario, .lock, .world)
	| "[\n" + (map(tojson) | join(",\n")) + "\n]"' >"$new"
cat "$new" >"$kept"
