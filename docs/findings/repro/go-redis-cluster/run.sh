#!/usr/bin/env bash
# ClusterClient of go-redis asks a dead master for up to a minute after its replica has taken over.
library=github.com/redis/go-redis/v9
upstream=https://github.com/redis/go-redis/issues/3979
. "$(dirname "$0")/../lib.sh"
ports=()
for node in first second replica; do
	redis --cluster-enabled yes --cluster-config-file "$node.conf" --cluster-node-timeout 1000 --repl-diskless-sync-delay 0
	ports+=("$port")
	if [ "$node" = first ]; then first=$pid; fi
done
try_go "${ports[@]}" "$first"
