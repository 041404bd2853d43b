#!/bin/bash
# The scenarios power-loss and power-loss-node for each service and each setting of when it syncs, in world local. Each result is a folder of
# its own below the folder, and a result that is there is kept, so the script can be interrupted.
#
#	results/power-loss.sh /tmp/power kept             names of files are durable at once, as on usual file systems
#	results/power-loss.sh /tmp/power lost             POSIX to the letter
#	results/power-loss.sh /tmp/power kept nats        only this service
#	go run ./internal/docgen -power /tmp/power
set -euo pipefail
out=$1 names=$2 only=${3:-}
lockbench=${LOCKBENCH:-build/lockbench} episodes=${EPISODES:-5}
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"

# scenario, service, topology, locks, setting
rows() {
	cat <<-'END'
		power-loss redis single set-nx,redlock appendfsync: always
		power-loss redis single set-nx,redlock appendfsync: everysec
		power-loss redis single set-nx,redlock appendfsync: no
		power-loss etcd single etcd-mutex/orphan=on
		power-loss etcd sentinel etcd-mutex/orphan=on
		power-loss nats single nats-kv jetstream.sync_interval: always
		power-loss nats single nats-kv
		power-loss nats sentinel nats-kv jetstream.sync_interval: always
		power-loss nats sentinel nats-kv
		power-loss postgres single pg-row synchronous_commit: on
		power-loss postgres single pg-row synchronous_commit: off
		power-loss mariadb single mysql-row innodb-flush-log-at-trx-commit: 1
		power-loss mariadb single mysql-row innodb-flush-log-at-trx-commit: 2
		power-loss zookeeper single zk-recipe
		power-loss zookeeper sentinel zk-recipe
		power-loss mongo single mongo-find-and-modify
		power-loss-node redis replicated set-nx appendfsync: always
		power-loss-node redis replicated set-nx appendfsync: everysec
		power-loss-node redis replicated redlock appendfsync: everysec
		power-loss-node etcd sentinel etcd-mutex/orphan=on
		power-loss-node nats sentinel nats-kv
		power-loss-node nats sentinel nats-kv jetstream.sync_interval: always
		power-loss-node zookeeper sentinel zk-recipe
	END
}

rows | while read -r scenario service topology locks setting; do
	if [ -n "$only" ] && [ "$only" != "$service" ]; then
		continue
	fi
	at=$out/$scenario.$service.$topology.${locks//[,\/]/_}.${setting//[: ]/}.$names
	[ ! -e "$at/result.json" ] || continue
	rm -rf "$at"
	mkdir -p "$at"
	servers=
	if [ "$service" != redis ] && [ -n "$setting" ]; then
		servers="servers: {$service: {settings: {$setting}}}"
	fi
	redis="redis: {appendonly: yes, appendfsync: everysec}"
	if [ "$service" = redis ]; then
		redis="redis: {appendonly: yes, $setting}"
	fi
	# Only these locks, so nothing is expected of others; the results count, and not what was expected.
	sed -e "s/^redis: .*/$redis\n$servers/" -e "s/single-store: [a-z]*/single-store: $topology/" -e "s/names: kept/names: $names/" \
		-e '/^expect:/,$d' "$here/scenarios/$scenario.yaml" >"$at/$scenario.yaml"
	code=0
	"$lockbench" run "$at/$scenario.yaml" --world local --locks "$locks" --seed 1 --episodes "$episodes" --out "$at/runs" >"$at/log" 2>&1 </dev/null || code=$?
	if ((code <= 2)); then
		cp "$at"/runs/latest/result.json "$at/result.json"
		jq --arg s "$service" --arg v "$setting" --arg n "$names" '. + {power: {service: $s, setting: $v, names: $n}}' "$at/result.json" >"$at/new"
		mv "$at/new" "$at/result.json"
	fi
	echo "$scenario, $service $topology $setting, names $names: exit $code"
done
