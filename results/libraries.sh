#!/usr/bin/env bash
# libraries.sh DIR...: takes what the runs below some folders show of the stock libraries into
# results/libraries.json, and writes the tables of docs/libraries.md from that, between its two
# marks. Without a folder only the tables are written.
set -euo pipefail
here=$(dirname "$0")
page=$here/../docs/libraries.md
kept=$here/libraries.json
libraries='["redsync", "redsync/careful=on", "redsync-redigo", "redsync-rueidis", "redislock", "redislock/careful=on",
	"rueidislock/validity=2s", "valkeylock/validity=2s", "redis-py"]'
if [ $# -gt 0 ]; then bash "$here/collect.sh" "$kept" "$libraries" "$@"; fi
jq -r --argjson libraries "$libraries" '
	["sim", "local", "docker"] as $worlds
	# the kind of a scenario is what a single store is put on
	| . as $cells
	| def kind: . as $s | [$cells[] | select(.scenario == $s).topology] | if any(. == "sentinel") then "sentinel" elif any(. == "cluster") then "cluster" elif any(. == "single") then "single" else "independent" end;
	  def cell($s; $l): [$cells[] | select(.scenario == $s and .lock == $l)] as $of
		| if $of == [] then "" else
			([$of[] | select(.verdict == "violated").class] | unique | map("**\(.)** ") | join(""))
			+ ([$worlds[] as $w | [$of[] | select(.world == $w)] | if . == [] or .[0].verdict == "none" then "-" elif .[0].verdict == "unknown" then "?" else "\(.[0].k)/\(.[0].n)" end] | join(" · "))
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
	  ($rows[] as $s | "| `\($s)` | \([$libraries[] as $l | cell($s; $l)] | join(" | ")) |")' "$kept" | bash "$here/put.sh" "$page" libraries
