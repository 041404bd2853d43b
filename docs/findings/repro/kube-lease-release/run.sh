#!/usr/bin/env bash
# An elector of client-go with ReleaseOnCancel that is cancelled after another client took the Lease over clears the holder of that Lease.
library=k8s.io/client-go
. "$(dirname "$0")/../lib.sh"
try_go
