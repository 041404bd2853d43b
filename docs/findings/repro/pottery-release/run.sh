#!/usr/bin/env bash
# A release of pottery's Redlock overtakes the acquire on a server, and the key stays there.
library=pypi/pottery
. "$(dirname "$0")/../lib.sh"
ports=()
for _ in 1 2 3 4 5; do
	redis
	ports+=("$port")
done
try_python "${ports[@]}"
