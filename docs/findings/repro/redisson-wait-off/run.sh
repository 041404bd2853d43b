#!/usr/bin/env bash
# checkLockSyncedSlaves turns itself off after one lock call while the master has no replica.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
master=$port
redis
try_java "$master" "$port" "$pid"
