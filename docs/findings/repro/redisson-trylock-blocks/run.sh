#!/usr/bin/env bash
# tryLock(0, lease, unit) of Redisson blocks for a quarter of a minute while no replica answers.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
master=$port
redis --replicaof 127.0.0.1 "$master"
try_java "$master" "$port" "$pid"
