#!/usr/bin/env bash
# A client of redlock 5 that was refused once is refused by its own keys when it tries again.
library=npm/redlock
upstream=https://github.com/mike-marcacci/node-redlock/pull/369
. "$(dirname "$0")/../lib.sh"
ports=()
for _ in 1 2 3; do
	redis
	ports+=("$port")
done
try_node "${ports[@]}"
