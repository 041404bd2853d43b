#!/usr/bin/env bash
# A late unlock of ShedLock's Redis provider removes the lock of the client that holds it now.
library=net.javacrumbs.shedlock:shedlock-provider-redis-spring
upstream=https://github.com/lukas-krecan/ShedLock/issues/2583
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port"
