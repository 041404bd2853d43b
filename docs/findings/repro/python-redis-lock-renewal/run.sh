#!/usr/bin/env bash
# A lock of python-redis-lock is not renewed any more after one renewal has failed.
library=pypi/python-redis-lock
. "$(dirname "$0")/../lib.sh"
redis
try_python "$port"
