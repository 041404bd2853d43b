#!/usr/bin/env bash
# A late unlock of ShedLock's JDBC provider frees the lock of the client on the same host that holds it now.
library=net.javacrumbs.shedlock:shedlock-provider-jdbc-template
upstream=https://github.com/lukas-krecan/ShedLock/issues/317
. "$(dirname "$0")/../lib.sh"
try_java
