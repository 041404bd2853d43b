#!/usr/bin/env bash
# A refused acquire of kazoo gives up its node after one failed delete, so no client gets the lock while its session lives.
library=pypi/kazoo
upstream=https://github.com/python-zk/kazoo/issues/732
. "$(dirname "$0")/../lib.sh"
zookeeper
try_python "$port"
