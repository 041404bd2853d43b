#!/usr/bin/env bash
# RedissonFencedLock.lockAndGetToken(lease, unit) ignores its lease: the watchdog renews the lock for ever.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port"
