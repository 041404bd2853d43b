#!/usr/bin/env bash
# A dead waiter at the head of an RFairLock keeps all clients out, and each other waiter asks the server without a pause.
library=org.redisson:redisson
. "$(dirname "$0")/../lib.sh"
redis
try_java "$port" "$here/Main.java"
