#!/usr/bin/env bash
# RedissonMultiLock.lock(lease, unit) multiplies the lease by 1,000 each time that it is refused.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port"
