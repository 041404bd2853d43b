#!/usr/bin/env bash
# A stale holder of simple-redis-mutex has a larger fencing token than the client that holds the lock now.
library=npm/simple-redis-mutex
. "$(dirname "$0")/../lib.sh"
redis
try_node "$port"
