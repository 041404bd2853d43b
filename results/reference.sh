#!/usr/bin/env bash
# The reference: campaigns/acceptance.yaml, by itself all scenarios in all worlds, and what is worth keeping of it put
# into results/reference: verdicts, figures and a summary. Runs are left out, because they are gigabytes; the summary
# has the command that repeats them.
#
#   make reference                           everything, in every world that this machine has (many hours)
#   make reference WORLD=sim BUDGET=1h       so long, in these worlds; what is kept of the others stays
#   make reference SCENARIOS='lost-*'        these scenarios; what is kept of the others stays
#   make reference RESUME=yes BUDGET=1h      continues the last one, in build/reference
#
# KEEP=DIR puts it all elsewhere and leaves docs/locks.md alone.
set -euo pipefail
cd "$(dirname "$0")/.."

go build -buildvcs=true -o build/lockbench ./cmd/lockbench # which commit it was belongs to the record
work=build/reference
folder=$work/matrix/acceptance
if [ -n "${RESUME:-}" ]; then
	args=(--resume "$folder")
else
	rm -rf "$work"
	args=(--file campaigns/acceptance.yaml --out "$work" --seed "${SEED:-1}")
	if [ -n "${WORLD:-}" ]; then args+=(--worlds "$WORLD"); fi
	if [ -n "${SCENARIOS:-}" ]; then args+=(--scenarios "$SCENARIOS"); fi
fi
if [ -n "${BUDGET:-}" ]; then args+=(--budget "$BUDGET"); fi

# What came out is kept whatever it was; a matrix that could not be begun ends this.
code=0
build/lockbench matrix "${args[@]}" || code=$?
if [ $code -gt 3 ]; then exit $code; fi
bash results/keep.sh "$folder" "${KEEP:-results/reference}"
if [ -z "${KEEP:-}" ]; then bash results/verdicts.sh; fi
exit $code
