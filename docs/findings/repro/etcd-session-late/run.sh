#!/usr/bin/env bash
# Session.Done of etcd's client is closed after another client got the lock, when its holder is cut off right after the grant.
library=go.etcd.io/etcd/client/v3
. "$(dirname "$0")/../lib.sh"
try_go
