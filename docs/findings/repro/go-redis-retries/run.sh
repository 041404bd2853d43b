#!/usr/bin/env bash
# A release whose answer is lost is sent again by go-redis, so redislock and redsync report that the lock was not held.
library=github.com/bsm/redislock
upstream=https://github.com/go-redsync/redsync/issues/81
. "$(dirname "$0")/../lib.sh"
redis
try_go "$port"
