#!/usr/bin/env bash
# A lock of rueidislock excludes no client if the clock of its holder is behind the clock of the server by more than its validity.
library=github.com/redis/rueidis
. "$(dirname "$0")/../lib.sh"
redis
need golang go
# No clock of the machine is changed: the program has a copy of Go's package time with a wall clock that can be moved.
goroot=$(go env GOROOT)
sed 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += Moved/' "$goroot/src/time/time.go" >"$work/time.go"
grep -q 'sec += Moved' "$work/time.go" || cannot "the clock of $(go version) cannot be moved"
printf '\n// Moved is added to the seconds of the wall clock.\nvar Moved int64\n' >>"$work/time.go"
echo "{\"Replace\": {\"$goroot/src/time/time.go\": \"$work/time.go\"}}" >"$work/overlay.json"
overlay=$work/overlay.json
try_go "$port"
