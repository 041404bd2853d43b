# make chaos SCENARIO=failover   breaks locks and says which of them held
# make test                      runs every test that this machine can run
# make help                      the rest

SHELL := /bin/bash
BIN   := build/lockbench

# What `make chaos` passes on to `lockbench run`; empty means the default.
SCENARIO ?= failover
LOCKS    ?=
WORLD    ?=
SEED     ?=
EPISODES ?=
DURATION ?=
FLAGS    ?=

# How long `make verify` feeds each reader of files.
FUZZTIME ?= 30s

# The race detector needs a C compiler; without one the tests still run.
RACE := $(shell command -v gcc >/dev/null 2>&1 && echo -race)

# How many seeds `make determinism` runs twice.
SEEDS ?= 1000

.PHONY: determinism verify bench-checker chaos test long lint build check bench clean help

chaos: build ## break locks: SCENARIO=failover LOCKS=a,b WORLD=local SEED=7 EPISODES=10 DURATION=5m FLAGS='--expect valid'
	@$(BIN) run $(SCENARIO) $(if $(LOCKS),--locks '$(LOCKS)') $(if $(WORLD),--world $(WORLD)) $(if $(SEED),--seed $(SEED)) \
		$(if $(EPISODES),--episodes $(EPISODES)) $(if $(DURATION),--duration $(DURATION)) $(FLAGS)

test: ## every test that this machine can run, and what was skipped (LOCKBENCH_REQUIRE=local,docker makes a skip of these worlds a failure)
	@mkdir -p build
	@set -o pipefail; go test $(RACE) -timeout 40m -v ./... 2>&1 | tee build/test.log | grep -E --line-buffered '^(ok|FAIL|panic:|\?)|^ *--- FAIL|^#|[^ ]+_test\.go:[0-9]+: .*(want|got|fail)|WARNING: DATA RACE'; \
		status=$${PIPESTATUS[0]}; \
		grep -A2 -E '^ *--- SKIP' build/test.log | sed 's/^/skipped  /' || echo "nothing was skipped"; \
		if [ $$status -ne 0 ]; then echo "the whole output is in build/test.log"; fi; exit $$status

long: ## the tests that take long or are not steady on every machine: world docker, and what `make test` says it skipped (half an hour)
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local,docker go test -timeout 60m ./internal/world/docker ./internal/run ./locks/locktest ./locks/redisson

lint: ## gofmt, vet, staticcheck, and builds for other systems
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	GOOS=darwin go build ./...
	GOOS=windows go build ./...

build: ## the program, into build/lockbench
	@mkdir -p build
	@go build -o $(BIN) ./cmd/lockbench

check: build ## judge the newest run again, from its histories alone
	$(BIN) check results/latest

verify: ## the long checks of the checker: all small histories and millions of random ones against porcupine, its mutants, and every reader of files fuzzed (half an hour; LOCKBENCH_RANDOM=1000000 for a tenth)
	LOCKBENCH_VERIFY=1 go test -timeout 3h -v ./checker/sweep/ 2>&1 | grep -vE '^=== |^ *--- PASS|^PASS'; exit $${PIPESTATUS[0]}
	@set -e; for target in history/FuzzRead history/FuzzJepsen history/FuzzOpen; do \
		go test -run '^$$' -fuzz "^$${target#*/}\$$" -fuzztime $(FUZZTIME) ./internal/$${target%/*}/; done
	go test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) ./scenarios/

determinism: ## the simulation, SEEDS seeds twice each, in other processes and with other numbers of processors: every history must be the same (ten minutes)
	LOCKBENCH_SEEDS=$(SEEDS) go test -timeout 3h -count 1 -v -run '^TestSimDeterminism$$' ./internal/run/

bench-checker: build ## how fast histories are judged, against the goals and against porcupine, in one run (five minutes)
	$(BIN) bench checker

bench: ## what recording costs: nanoseconds an operation, and the recorded loop against the bare one
	go test -run '^$$' -bench 'Record' -benchtime 2s ./internal/history/
	go test -run '^$$' -bench 'RecordedLoop' -benchtime 1x -timeout 20m ./internal/run/

clean: ## what was built; results stay
	rm -rf build

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24
