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

# Programs are built without C, as the image is: with both, all packages would be compiled twice.
export CGO_ENABLED := 0

# How many seeds `make determinism` runs twice, or which: 11..100; and how many `make mutants` gives each mutant.
SEEDS ?=

# How many seeds of each kind take part where clients are modules, which cost ten times as much.
MODULE_SEEDS ?= 30

# What `make matrix` passes on to `lockbench matrix`.
SCENARIOS ?=
BUDGET    ?=
RESUME    ?=
FILE      ?=

.PHONY: image images mutants more guests repro matrix measure determinism determinism-modules alike verify bench-checker bench-sim chaos test race quick bare long lint build check bench clean help

chaos: build ## break locks: SCENARIO=failover LOCKS=a,b WORLD=local SEED=7 EPISODES=10 DURATION=5m FLAGS='--expect valid'
	@$(BIN) run $(SCENARIO) $(if $(LOCKS),--locks '$(LOCKS)') $(if $(WORLD),--world $(WORLD)) $(if $(SEED),--seed $(SEED)) \
		$(if $(EPISODES),--episodes $(EPISODES)) $(if $(DURATION),--duration $(DURATION)) $(FLAGS)

test: ## every test that this machine can run, and what was skipped: installs what is missing first (SETUP=no installs nothing, LOCKBENCH_REQUIRE=all fails what would be skipped)
	@scripts/test

race: ## the tests with the race detector, of all packages for which it does something (an hour)
	@scripts/test race

quick: ## build, vet, unit tests, golden histories and one simulated failover (two minutes on two cores)
	go vet ./...
	go test ./internal/history/... ./internal/stats ./internal/guest ./locks ./scenarios ./workloads ./nemesis
	go test -run Golden ./checker
	$(MAKE) chaos WORLD=sim EPISODES=1 SEED=1

bare: ## the tests that use servers, with all servers, browsers and Docker hidden: each passes or is skipped
	@SETUP=no scripts/bare scripts/test servers

long: ## the tests that take long or are not steady on every machine, which `make test` says it skipped (half an hour)
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local go test -timeout 60m ./locks/locktest ./locks/redisson
	LOCKBENCH_LONG=1 LOCKBENCH_CONFORM=1 go test -timeout 90m -v -run '^TestConformOnEveryTopology$$' ./cmd/lockbench
	LOCKBENCH_LONG=1 go test -timeout 30m -run '^TestImageOfAnotherProcessor$$' ./deploy
	LOCKBENCH_LONG=1 LOCKBENCH_DOCKER=1 go test -timeout 60m -v -run '^(TestKilledAtAnyMoment|TestAutoFetchesWhatItNeeds)$$' ./internal/run
	LOCKBENCH_LONG=1 go test -timeout 40m -v -run '^TestReferenceLocksAreAvailable$$' ./internal/run
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local go test -timeout 20m -v -run 'External(Servers|Services)$$' ./internal/run
	cd more && LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local go test -timeout 30m -v -run 'External(Servers|Services)$$' ./libraries
	scripts/guests
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local,guests go test -timeout 60m -v ./guests

lint: ## gofmt, vet, staticcheck, and a build for WebAssembly
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	cd more && go vet ./...
	go tool staticcheck ./...
	cd deploy/kubernetes && go vet ./...
	GOOS=wasip1 GOARCH=wasm go build . ./examples/go-lock/... ./internal/trial/testdata/whole ./internal/trial/testdata/setnx

build: ## the program, into build/lockbench
	@mkdir -p build
	@go build -o $(BIN) ./cmd/lockbench

image: ## the image lockbench: docker run --rm -v "$$PWD/results:/results" lockbench run failover. On Linux of this machine's own programs and without a registry, elsewhere of Debian's, in a container of Go's image
	@mkdir -p build/image
ifeq ($(shell uname -s),Linux)
	CGO_ENABLED=0 go build -ldflags '-s -w' -o build/image/lockbench ./cmd/lockbench
	deploy/images/pack.sh tar lockbench=build/image/lockbench $(IMAGE_PROGRAMS) >build/image/rootfs-$$(go env GOARCH).tar
	@rm build/image/lockbench
	docker build --quiet --build-arg TARGETARCH=$$(go env GOARCH) --tag lockbench -f Dockerfile build/image
else
	@rm -f build/image/rootfs-*.tar
	docker run --rm -v "$(CURDIR):/src" -w /src golang:1.26-bookworm sh -ec '$(PACKED_IN_CONTAINER)'
	docker build --quiet --build-arg TARGETARCH=$$(basename build/image/rootfs-*.tar .tar | cut -d- -f2) --tag lockbench -f Dockerfile build/image
endif

# The programs of the image besides lockbench: the servers of world local and what starts them.
IMAGE_PROGRAMS = redis-server,redis-sentinel=redis-server redis-cli nft sh cat rm mkdir sleep timeout chown cp setpriv

images: build ## the images in which world docker starts servers, of this machine's programs: IMAGES=redis,postgres
	$(BIN) doctor --images '$(or $(IMAGES),redis)'

# The commands that a container runs if this machine is not Linux. The folder has another owner there,
# and git distrusts that: -buildvcs=false.
PACKED_IN_CONTAINER = apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server nftables \
	&& CGO_ENABLED=0 go build -buildvcs=false -ldflags "-s -w" -o /tmp/lockbench ./cmd/lockbench \
	&& deploy/images/pack.sh tar lockbench=/tmp/lockbench $(IMAGE_PROGRAMS) >build/image/rootfs-$$(go env GOARCH).tar

more: build ## the programs that serve stock lock libraries (redsync, etcd-mutex, ...) and etcd itself, as a process, and but for etcd as a module for world sim
	@go build -C more -o ../build/lockbench-more ./lockbench-more
	@GOOS=wasip1 GOARCH=wasm go build -C more -o ../build/lockbench-more.wasm ./lockbench-more

guests: ## lock libraries of other languages (Redisson, ...), each as a guest in build/guests; names what this machine cannot build
	@scripts/guests

repro: ## programs that show the defects of libraries without lockbench: does each defect still exist
	@scripts/repro

matrix: build ## many scenarios on many locks, one page: SCENARIOS='failover*' LOCKS='set-*' WORLD=sim,local SEEDS=3 EPISODES=20 BUDGET=10m; FILE=campaigns/acceptance.yaml: does every scenario do in every world what it says (hours); RESUME=DIR continues one
	@$(BIN) matrix $(if $(RESUME),--resume '$(RESUME)') $(if $(FILE),--file '$(FILE)') $(if $(SCENARIOS),--scenarios '$(SCENARIOS)') $(if $(LOCKS),--locks '$(LOCKS)') $(if $(WORLD),--worlds '$(WORLD)') \
		$(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(EPISODES),--episodes $(EPISODES)) $(if $(BUDGET),--budget $(BUDGET)) $(FLAGS)

mutants: ## each lock that is wrong on purpose is shown, and its original is not accused: writes docs/mutants.md (an hour and more; SEEDS=5 for a quarter)
	LOCKBENCH_MUTANTS=$(or $(SEEDS),20) go test -timeout 8h -count 1 -v -run '^(TestMutants|TestCounterexamplesHaveTheirCause)$$' ./internal/run | grep -vE '^=== |^ *--- PASS'; exit $${PIPESTATUS[0]}

measure: build guests more ## run a campaign and write its results into results/ and the tables of docs/ (FILE=campaigns/libraries.yaml BUDGET=2h; RESUME=yes continues it); for an idle machine
	@test -n '$(FILE)' || { echo 'measure: name a campaign: make measure FILE=campaigns/acceptance.yaml' >&2; exit 64; }
	$(BIN) matrix $(if $(RESUME),--resume build/measure/$(notdir $(basename $(FILE)))/matrix/$(notdir $(basename $(FILE))),--file $(FILE) --seed 1 --out build/measure/$(notdir $(basename $(FILE)))) \
		$(if $(BUDGET),--budget $(BUDGET)) $(if $(SCENARIOS),--scenarios '$(SCENARIOS)') || [ $$? -le 3 ]
	go test ./results -count 1 -update -collect "$(CURDIR)/build/measure/$(notdir $(basename $(FILE)))"

check: build ## judge the newest run again, from its histories alone
	$(BIN) check results/latest

verify: build ## the long checks of the checker: all small histories and millions of random ones against porcupine, its mutants, and every reader of histories and scenarios fuzzed (half an hour; LOCKBENCH_RANDOM=1000000 for a tenth); SINCE=REVISION compares the verdicts of a corpus with those of that revision
	LOCKBENCH_VERIFY=1 go test -timeout 3h -v ./checker/sweep/ ./checker/ 2>&1 | grep -vE '^=== |^ *--- PASS|^PASS'; exit $${PIPESTATUS[0]}
	@set -e; for target in history/FuzzRead history/jepsen/FuzzRead history/jepsen/FuzzOpen; do \
		go test -run '^$$' -fuzz "^$${target##*/}\$$" -fuzztime $(FUZZTIME) ./internal/$${target%/*}/; done
	go test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) ./scenarios/
	$(if $(SINCE),scripts/corpus since '$(SINCE)' build/corpus $(BIN))

determinism: ## the simulation, SEEDS seeds twice each, in other processes and with other numbers of processors: every history must be the same (ten minutes); then determinism-modules
	LOCKBENCH_SEEDS=$(or $(SEEDS),1000) go test -timeout 3h -count 1 -v -run '^TestSimDeterminism$$' ./internal/trial/
	$(MAKE) determinism-modules

determinism-modules: ## the same where WebAssembly takes part: trials that are one module as a whole against the ordinary ones, and clients of five stock libraries that are modules, MODULE_SEEDS seeds each
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -timeout 3h -count 1 -v -run '^(TestWholeSimulationAsAModule|TestModuleDeterminism)$$' ./internal/trial/
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -C more -timeout 3h -count 1 -v -run '^TestModulesReplay$$' ./libraries/

alike: ## do WASM guests and goroutines of one lock get the same verdicts, and does a stock failover client as a WASM guest never freeze: MODULE_SEEDS seeds of each scenario (hours with 200)
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -timeout 12h -count 1 -v -run '^TestModuleBreaksAlike$$' ./internal/trial/
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -C more -timeout 12h -count 1 -v -run '^TestStockFailoverClientNeverFreezes$$' ./libraries/

bench-checker: ## how fast histories are judged, against the goals and against porcupine, in one run, and what judging costs when there is much of one thing (ten minutes; PART=cost FLAGS='-case renewals' for less)
	go test -run '^$$' -bench '^BenchmarkChecker$$$(if $(PART),/^$(PART)$$)' -benchtime 1x -timeout 3h ./checker/bench/ $(FLAGS)

bench-sim: ## how fast the simulation is, in commands and in virtual time
	@for n in 5 30 100; do GOGC=800 go test -run '^$$' -bench "^BenchmarkSim$$/^clients=$$n$$" -benchtime 1x ./internal/world/sim/ || exit 1; done

bench: ## what recording costs: nanoseconds an operation, and the recorded loop against the bare one
	go test -run '^$$' -bench 'RecordOperation' -benchtime 2s ./internal/history/
	go test -run '^$$' -bench 'RecordedLoop' -benchtime 1x -timeout 20m ./internal/history/

clean: ## what was built; results stay
	rm -rf build

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24
