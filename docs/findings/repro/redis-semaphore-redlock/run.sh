#!/usr/bin/env bash
# RedlockMutex of redis-semaphore is granted after its lease is over, while one server of five is down.
library=npm/redis-semaphore
. "$(dirname "$0")/../lib.sh"
ports=()
for _ in 1 2 3 4 5; do
	redis
	ports+=("$port")
done
try_node "$pid" "${ports[@]}"
