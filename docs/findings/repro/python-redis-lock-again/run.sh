#!/usr/bin/env bash
# After a failed renewal, acquire of python-redis-lock raises AlreadyStarted and leaves its key behind.
library=pypi/python-redis-lock
. "$(dirname "$0")/../lib.sh"
redis
try_python "$port"
