#!/usr/bin/env bash
# The signal of using() of redlock 5 is not aborted when the lock expires, as long as the servers do not answer.
library=npm/redlock
upstream=https://github.com/mike-marcacci/node-redlock/issues/253
. "$(dirname "$0")/../lib.sh"
redis
try_node "$port"
