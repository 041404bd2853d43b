#!/usr/bin/env bash
# A Redis lock of sherlock with expire=None, which "will not expire", is deleted when it is taken.
library=pypi/sherlock
. "$(dirname "$0")/../lib.sh"
redis
try_python "$port"
