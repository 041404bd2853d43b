#!/usr/bin/env bash
# libraries.sh DIR...: puts what the runs below some folders show of the stock libraries into
# docs/libraries.md, between its two marks. Of each scenario, library and world the newest run
# counts. A run is what `lockbench run` writes: a folder with a result.json.
set -euo pipefail
if [ $# -eq 0 ]; then
	echo "libraries.sh wants folders with runs: results/libraries.sh DIR..." >&2
	exit 64
fi
runs=$(find "$@" -name result.json -not -path '*/latest/*')
if [ -z "$runs" ]; then
	echo "libraries.sh: no run is below $*; make some with lockbench run SCENARIO --locks LIBRARY,..." >&2
	exit 64
fi
cd "$(dirname "$0")/.."
page=docs/libraries.md
table=$(mktemp)
trap 'rm -f "$table"' EXIT
xargs cat <<<"$runs" | jq -rs '
	["sim", "local", "docker"] as $worlds
	| ["redsync", "redsync/careful=on", "redsync-redigo", "redislock", "redislock/careful=on",
	   "rueidislock/validity=2s", "valkeylock/validity=2s", "redis-py"] as $libraries
	# one cell for each lock of each run, the newest of those that are about the same
	| [.[] as $run | $run.locks[] | select(.lock | IN($libraries[]))
		| select(.verdict != "unsupported")
		| {key: "\($run.scenario) \(.lock) \($run.world)", at: $run.started, scenario: $run.scenario, world: $run.world,
		   lock, topology, verdict, class: (.class // ([.checks[] | select(.verdict == "violated").name][0] // "")), k: .violating_episodes, n: .episodes}]
	| group_by(.key) | map(max_by(.at))
	# the kind of a scenario is what a single store is put on
	| . as $cells
	| def kind: . as $s | [$cells[] | select(.scenario == $s).topology] | if any(. == "sentinel") then "sentinel" elif any(. == "cluster") then "cluster" elif any(. == "single") then "single" else "independent" end;
	  def cell($s; $l): [$cells[] | select(.scenario == $s and .lock == $l)] as $of
		| if $of == [] then "" else
			([$of[] | select(.verdict == "violated").class] | unique | map("**\(.)** ") | join(""))
			+ ([$worlds[] as $w | [$of[] | select(.world == $w)] | if . == [] then "-" elif .[0].verdict == "unknown" then "?" else "\(.[0].k)/\(.[0].n)" end] | join(" · "))
		  end;
	  {single: "On one server, or five independent ones",
	   sentinel: "Behind Sentinel, or on five independent servers",
	   cluster: "In a cluster, or on five independent servers",
	   independent: "On five independent servers alone"} as $titles
	| ("single", "sentinel", "cluster", "independent") as $kind
	| [$cells[].scenario] | unique | map(select(kind == $kind)) as $rows
	| select($rows != [])
	| "\n**\($titles[$kind])**\n",
	  "| scenario | \($libraries | map("`\(.)`") | join(" | ")) |",
	  "| --- |\($libraries | map(" --- |") | join(""))",
	  ($rows[] as $s | "| `\($s)` | \([$libraries[] as $l | cell($s; $l)] | join(" | ")) |")' >"$table"
awk -v table="$table" '
	/<!-- libraries -->/ { print; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
	/<!-- end of libraries -->/ { skip = 0 }
	!skip { print }
	' "$page" >"$page.new"
mv "$page.new" "$page"
