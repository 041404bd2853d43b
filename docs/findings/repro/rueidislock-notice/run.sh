#!/usr/bin/env bash
# The context of rueidislock is canceled after another client got the lock, when its holder is cut off.
library=github.com/redis/rueidis
. "$(dirname "$0")/../lib.sh"
redis
try_go "$port"
