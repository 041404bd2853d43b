#!/usr/bin/env bash
# The watchdog of Redisson drops a lock that was released and taken again while its renewal was under way.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port"
