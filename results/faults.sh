#!/bin/bash
# The table of docs/worlds.md: how long each fault takes to take effect and to heal on each topology of
# a service, in one world. Each cell is one run of one episode, in a folder that is removed.
#
#	results/faults.sh local redis
#	results/faults.sh local etcd single quorum
set -euo pipefail
world=$1 service=${2:-redis}
shift $(($# < 2 ? $# : 2))
lockbench=${LOCKBENCH:-build/lockbench}
# The plain lock of each service.
declare -A plain=([redis]=set-nx [etcd]=etcd-mutex [zookeeper]=zk-recipe [nats]=nats-kv
	[mongo]=mongo-find-and-modify [postgres]=pg-row [mariadb]=mysql-row)
if (($# == 0)); then
	set -- $("$lockbench" list services "$service" --json | jq -r '.services[0].notes | ltrimstr("topologies ") | gsub(","; "")')
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '| fault |%s\n| --- |%s\n' "$(printf ' %s |' "$@")" "$(printf ' --- |%.0s' "$@")"
"$lockbench" list faults --json | jq -r '.faults[].examples[]' | while read -r step; do
	row="| \`$step\` |"
	# With RedLock a master may only lose its data within the ttl if the scenario says so.
	step=${step/data: lost/data: lost, early: true}
	for topology; do
		lock=${plain[$service]}
		[ "$topology" != independent ] || lock=redlock
		cat >"$work/one.yaml" <<-YAML
			lockbench: scenario/1
			locks: [$lock]
			servers: {$service: {topology: $topology}}
			workload: {counter: {clients: 3, keys: 2}}
			episodes: 1
			faults: none
		YAML
		rm -rf "$work/out"
		"$lockbench" run "$work/one.yaml" --world "$world" --seed 1 --fault "$step" --out "$work/out" --json >"$work/result.json" 2>"$work/log" </dev/null || true
		row+=" $(jq -r '
			def time: if . < 0.001 then "< 1 ms" elif . < 0.1 then "\(. * 1000 | round) ms" else "\(. * 10 | round / 10) s" end;
			.locks[0] | if (.unsupported // .plan[0].na) then "n/a"
			elif .faults[0].effect_s and .faults[0].healed_s then "\(.faults[0].effect_s | time), \(.faults[0].healed_s | time)"
			else "**failed**" end' "$work/result.json" || echo '**failed**') |"
	done
	echo "$row"
done
