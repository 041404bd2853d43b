#!/usr/bin/env bash
# While one server of five is dead, every lock() of redlock-py raises and leaves its key on the other four.
library=pypi/redlock-py
upstream=https://github.com/SPSCommerce/redlock-py/pull/27
. "$(dirname "$0")/../lib.sh"
urls=()
for _ in 1 2 3 4 5; do
	redis
	urls+=("redis://127.0.0.1:$port")
done
try_python "$pid" "${urls[@]}"
