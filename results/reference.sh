#!/usr/bin/env bash
# Runs the reference matrices and puts what is worth keeping of them into
# results/reference: figures, pages, summaries, plans. Histories are left out (they are
# gigabytes); each run's command stands on the page, and repeats it.
#
#   make reference                          all scenarios in world sim (1h), some in world local (30m)
#   make reference BUDGET=10m               so long in each world; SIM_BUDGET, LOCAL_BUDGET for one
#   make reference WORLDS=sim EPISODES=20   at least 20 episodes of each cell, if the budget allows
#   make reference RESUME=yes               goes on with the last one, in build/reference
#
# KEEP=DIR puts it all elsewhere and leaves the README alone.
set -euo pipefail
cd "$(dirname "$0")/.."

go build -buildvcs=true -o build/lockbench ./cmd/lockbench # which commit it was belongs to the record
work=build/reference
if [ -z "${RESUME:-}" ]; then rm -rf "$work"; fi

worlds=${WORLDS:-sim local}
for world in ${worlds//,/ }; do
	case $world in
	sim) budget=${SIM_BUDGET:-${BUDGET:-1h}} scenarios=${SIM_SCENARIOS:-${SCENARIOS:-}} ;;
	*) budget=${LOCAL_BUDGET:-${BUDGET:-30m}} scenarios=${LOCAL_SCENARIOS:-${SCENARIOS:-steady,failover,pause-client}} ;;
	esac
	begun=$(find "$work/$world/matrix" -maxdepth 2 -name matrix.json 2>/dev/null || true)
	if [ -n "$begun" ]; then
		args=(--resume "$(dirname "$begun")")
	else
		args=(--world "$world" --seed "${SEED:-1}" --out "$work/$world")
		if [ -n "$scenarios" ]; then args+=(--scenarios "$scenarios"); fi
		if [ -n "${EPISODES:-}" ]; then args+=(--episodes "$EPISODES"); fi
	fi
	# What came out is kept whatever it was; a matrix that could not be begun ends this.
	code=0
	build/lockbench matrix "${args[@]}" --budget "$budget" || code=$?
	if [ $code -gt 3 ]; then exit $code; fi
	set -- "$work/$world"/matrix/*/matrix.json
	if [ ! -e "$1" ]; then exit $code; fi
	bash results/keep.sh "$(dirname "$1")" "${KEEP:-results/reference}/$world"
done
if [ -z "${KEEP:-}" ]; then bash results/readme.sh; fi
