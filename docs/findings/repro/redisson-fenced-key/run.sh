#!/usr/bin/env bash
# RedissonFencedLock.tryLockAndGetToken leaves its key behind when it throws because no replica confirmed it.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
master=$port
redis --replicaof 127.0.0.1 "$master"
try_java "$master" "$port" "$pid"
