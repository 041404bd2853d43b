#!/usr/bin/env bash
# The channel of a lock of Consul's API client stays open while its holder is cut off and another client holds the lock.
library=github.com/hashicorp/consul/api
upstream=https://github.com/hashicorp/consul/issues/18271
. "$(dirname "$0")/../lib.sh"
try_go
