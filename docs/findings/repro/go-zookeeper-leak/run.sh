#!/usr/bin/env bash
# Lock of go-zookeeper fails after it has created its node, which stays, so no client gets the lock.
library=github.com/go-zookeeper/zk
upstream=https://github.com/samuel/go-zookeeper/issues/229
. "$(dirname "$0")/../lib.sh"
zookeeper
try_go "$port"
