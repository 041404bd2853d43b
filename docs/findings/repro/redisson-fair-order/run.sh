#!/usr/bin/env bash
# RFairLock drops live waiters and grants out of order once its queue has been busy for one lease plus one wait.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port"
