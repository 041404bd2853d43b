#!/usr/bin/env bash
# services.sh DIR...: takes what the runs below some folders show of the locks on services other than
# Redis into results/services.json, and writes the table of docs/one-plan.md from that and from
# results/reference, between its two marks. Without a folder only the table is written.
set -euo pipefail
here=$(dirname "$0")
page=$here/../docs/one-plan.md
kept=$here/services.json
locks='["etcd-mutex", "etcd-mutex/orphan=on", "nats-kv", "nats-kv/replicas=1", "nats-kv/expiry=key",
	"zk-recipe", "zk-recipe/suspend=on", "zk-lock/wait=2s", "zk-curator", "zk-curator/listener=off", "zk-kazoo",
	"pg-advisory", "pg-advisory-xact", "pg-row", "mysql-row", "mysql-get-lock", "mysql-for-update",
	"consul-lock", "consul-lock/lock-delay=1ms"]'
if [ $# -gt 0 ]; then bash "$here/collect.sh" "$kept" "$locks" "$@"; fi
jq -r --argjson locks "$locks" --slurpfile reference "$here/reference/campaign.json" '
	["set-nx", "redisson", "redlock"] as $redis
	| ($redis + $locks) as $columns
	| [.[] | select(.world == "local")] as $measured
	| ([$measured[] | select(.verdict != "none").scenario] | unique) as $rows
	| [$reference[0].worlds[] | select(.world == "local").rows[] | .scenario as $s | .result.locks[]?
		| select(.lock | IN($redis[])) | select(.unsupported == null)
		| {scenario: $s, lock, verdict, class: (.class // ([.checks[]? | select(.verdict == "violated").name][0] // "")),
		   k: .violating_episodes, n: .episodes}] as $known
	| ($measured + $known) as $cells
	| def cell($s; $l): [$cells[] | select(.scenario == $s and .lock == $l)][0]
		| if . == null then "" elif .verdict == "none" then "–" elif .verdict == "unknown" then "?"
		  elif .verdict == "violated" then "**\(.class)** \(.k)/\(.n)" else "\(.k)/\(.n)" end;
	  "\n| scenario | \($columns | map("`\(.)`") | join(" | ")) |",
	  "| --- |\($columns | map(" --- |") | join(""))",
	  ($rows[] as $s | "| `\($s)` | \([$columns[] as $l | cell($s; $l)] | join(" | ")) |")' "$kept" | bash "$here/put.sh" "$page" "one plan"
