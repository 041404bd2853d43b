#!/usr/bin/env bash
# The reference: an acceptance of scenarios in worlds, by itself all of them, and what is worth keeping
# of it put into results/reference: verdicts and figures, a page and a summary for each
# world. Runs are left out (they are gigabytes); the page has the command that repeats them.
#
#   make reference                           everything, in every world that this machine has (many hours)
#   make reference WORLDS=sim BUDGET=1h      so long, in these worlds; what is kept of the others stays
#   make reference SCENARIOS='lost-*'        these scenarios; what is kept of the others stays
#   make reference RESUME=yes BUDGET=1h      goes on with the last one, in build/reference
#
# KEEP=DIR puts it all elsewhere and leaves docs/locks.md alone.
set -euo pipefail
cd "$(dirname "$0")/.."

go build -buildvcs=true -o build/lockbench ./cmd/lockbench # which commit it was belongs to the record
work=build/reference
if [ -n "${RESUME:-}" ]; then
	begun=$(ls -d "$work"/acceptance/*/ | tail -n 1)
	args=(--resume "$begun")
else
	rm -rf "$work"
	args=(--out "$work" --seed "${SEED:-1}")
	if [ -n "${WORLDS:-}" ]; then args+=(--worlds "$WORLDS"); fi
	if [ -n "${SCENARIOS:-}" ]; then args+=(--scenarios "$SCENARIOS"); fi
fi
if [ -n "${BUDGET:-}" ]; then args+=(--budget "$BUDGET"); fi

# What came out is kept whatever it was; an acceptance that could not be begun ends this.
code=0
build/lockbench acceptance "${args[@]}" || code=$?
if [ $code -gt 3 ]; then exit $code; fi
bash results/keep.sh "$(ls -d "$work"/acceptance/*/ | tail -n 1)" "${KEEP:-results/reference}"
if [ -z "${KEEP:-}" ]; then bash results/verdicts.sh; fi
exit $code
