#!/usr/bin/env bash
# Runs the reference matrices and puts what is worth keeping of them into
# results/reference: figures, pages, summaries, plans. Histories are left out (they are
# gigabytes); each run's command stands on the page, and repeats it.
#
#   make reference                       all scenarios in world sim, some in world local
#   SIM_BUDGET=10m LOCAL_BUDGET=5m make reference
#   WORLDS=sim make reference
set -euo pipefail
cd "$(dirname "$0")/.."

go build -buildvcs=true -o build/lockbench ./cmd/lockbench # which commit it was belongs to the record
work=build/reference
keep=results/reference
seed=${SEED:-1}
rm -rf "$work"

for world in ${WORLDS:-sim local}; do
	case $world in
	sim) args=(--budget "${SIM_BUDGET:-1h}") ;;
	*) args=(--scenarios "${LOCAL_SCENARIOS:-steady,failover,pause-client}" --budget "${LOCAL_BUDGET:-30m}") ;;
	esac
	# What came out is kept whatever it was; only a failure of the program ends this.
	code=0
	build/lockbench matrix --world "$world" --seed "$seed" "${args[@]}" --out "$work/$world" || code=$?
	if [ $code -gt 3 ]; then exit $code; fi
	bash results/keep.sh "$work/$world"/matrix/* "$keep/$world"
done
bash results/readme.sh
