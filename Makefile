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

.PHONY: chaos test quick matrix image clean race long lint build more kubernetes guests mutants measure site verify determinism bench help

chaos: build ## break locks: SCENARIO=failover LOCKS=a,b WORLD=local SEED=7 EPISODES=10 FLAGS='--expect valid'
	@$(BIN) run $(SCENARIO) $(if $(LOCKS),--locks '$(LOCKS)') $(if $(WORLD),--world $(WORLD)) $(if $(SEED),--seed $(SEED)) \
		$(if $(EPISODES),--episodes $(EPISODES)) $(if $(DURATION),--duration $(DURATION)) $(FLAGS)

test: ## every test that this machine can run, and what was skipped
	@scripts/test

race: ### the tests with the race detector (an hour)
	@scripts/test race

quick: ## vet, unit tests, golden histories and one simulated failover: a minute
	go vet ./...
	go test ./internal/history/... ./internal/stats ./internal/guest ./locks ./scenarios ./workloads ./nemesis
	go test -run Golden ./checker
	$(MAKE) chaos WORLD=sim EPISODES=1 SEED=1

long: ### the tests that `make test` says it skipped because they take long (half an hour)
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local go test -timeout 60m ./locks/locktest ./locks/redisson
	LOCKBENCH_LONG=1 LOCKBENCH_CONFORM=1 go test -timeout 90m -v -run '^TestConformOnEveryTopology$$' ./cmd/lockbench
	scripts/setup long
	LOCKBENCH_LONG=1 scripts/with-docker go test -timeout 30m -v -run '^(TestImageOfAnotherProcessor|TestSlurm|TestSwarm)$$' ./deploy
	LOCKBENCH_LONG=1 LOCKBENCH_DOCKER=1 go test -timeout 60m -v -run '^(TestKilledAtAnyMoment|TestKilledWithDisks|TestAutoFetchesWhatItNeeds)$$' ./internal/run
	LOCKBENCH_LONG=1 go test -timeout 40m -v -run '^TestReferenceLocksAreAvailable$$' ./internal/run
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local,postgres,mariadb,zookeeper go test -timeout 20m -v -run 'External(Servers|Services)$$' ./internal/run
	cd more && LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local,zookeeper go test -timeout 30m -v -run 'External(Servers|Services)$$' ./libraries
	$(MAKE) kubernetes
	go test -C more/kubelease .
	LOCKBENCH_REQUIRE=kubernetes go test -timeout 30m -v ./internal/service/kubernetes
	$(BIN) run cut-off-holder --world local --seed 1 --locks no-lock,kube-lease/lease=3s
	scripts/guests
	LOCKBENCH_LONG=1 LOCKBENCH_REQUIRE=local,guests go test -timeout 60m -v ./guests

lint: ### gofmt, vet, staticcheck, and a build for WebAssembly
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	cd more && go vet ./...
	cd more/kubelease && go vet ./...
	go tool staticcheck ./...
	cd deploy/kubernetes && go vet ./...
	GOOS=wasip1 GOARCH=wasm go build . ./examples/go-lock/... ./internal/virtual/child/testdata/whole ./internal/virtual/child/testdata/setnx

build: ### the program, into build/lockbench
	@mkdir -p build
	@go build -buildvcs=auto -o $(BIN) ./cmd/lockbench

image: ## the image lockbench, for docker run --rm lockbench run failover
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

# The commands that a container runs if this machine is not Linux. The folder has another owner there,
# and git distrusts that: -buildvcs=false.
PACKED_IN_CONTAINER = apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server nftables \
	&& CGO_ENABLED=0 go build -buildvcs=false -ldflags "-s -w" -o /tmp/lockbench ./cmd/lockbench \
	&& deploy/images/pack.sh tar lockbench=/tmp/lockbench $(IMAGE_PROGRAMS) >build/image/rootfs-$$(go env GOARCH).tar

more: build ### the programs that serve the lock libraries in Go, and etcd, MongoDB's and NATS' servers
	@go build -C more -o ../build/lockbench-more ./lockbench-more
	@GOOS=wasip1 GOARCH=wasm go build -C more -o ../build/lockbench-more.wasm ./lockbench-more

kubernetes: build ### the servers of Kubernetes, and the guest of client-go's leader election (eight minutes of processor time)
	@go build -C more/kubelease -ldflags '-s -w' -o ../../build/lockbench-kube-lease .
	@go build -C more/kubernetes -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -C more/kubernetes -m -f '{{.Version}}' k8s.io/kubernetes)" -o ../../build/lockbench-kubernetes .

guests: ### the lock libraries of other languages, each as a guest in build/guests
	@scripts/guests

matrix: build ## many scenarios on many locks: SCENARIOS='failover*' LOCKS='set-*' WORLD=sim,local SEEDS=3 FILE=campaigns/services.yaml
	@$(BIN) matrix $(if $(RESUME),--resume '$(RESUME)') $(if $(FILE),--file '$(FILE)') $(if $(SCENARIOS),--scenarios '$(SCENARIOS)') $(if $(LOCKS),--locks '$(LOCKS)') $(if $(WORLD),--worlds '$(WORLD)') \
		$(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(EPISODES),--episodes $(EPISODES)) $(if $(BUDGET),--budget $(BUDGET)) $(FLAGS)

mutants: ### each lock that is wrong on purpose is shown: writes docs/mutants.md (an hour; SEEDS=5 for a quarter)
	LOCKBENCH_MUTANTS=$(or $(SEEDS),20) go test -timeout 8h -count 1 -v -run '^(TestMutants|TestCounterexamplesHaveTheirCause)$$' ./internal/run | grep -vE '^=== |^ *--- PASS'; exit $${PIPESTATUS[0]}

measure: build guests more ### run a campaign and write its results into results/ and docs/: FILE=campaigns/libraries.yaml BUDGET=2h RESUME=yes
	@test -n '$(FILE)' || { echo 'measure: name a campaign: make measure FILE=campaigns/acceptance.yaml' >&2; exit 64; }
	$(BIN) matrix $(if $(RESUME),--resume build/measure/$(notdir $(basename $(FILE)))/matrix/$(notdir $(basename $(FILE))),--file $(FILE) --seed 1 --out build/measure/$(notdir $(basename $(FILE)))) \
		$(if $(BUDGET),--budget $(BUDGET)) $(if $(SCENARIOS),--scenarios '$(SCENARIOS)') || [ $$? -le 3 ]
	go build -buildvcs=auto -o build/docgen ./internal/docgen
	build/docgen -collect "$(CURDIR)/build/measure/$(notdir $(basename $(FILE)))"

site: ### one HTML page of all measured cells, from results/: build/site/index.html
	@mkdir -p build
	@go build -o build/docgen ./internal/docgen
	@build/docgen -site build/site
	@echo build/site/index.html

verify: build ### the long checks of the checker, and fuzzing (half an hour; SINCE=REVISION compares a corpus with that revision)
	LOCKBENCH_VERIFY=1 go test -timeout 3h -v ./checker/internal/sweep/ ./checker/ 2>&1 | grep -vE '^=== |^ *--- PASS|^PASS'; exit $${PIPESTATUS[0]}
	@set -e; for target in history/FuzzRead history/jepsen/FuzzRead history/jepsen/FuzzOpen; do \
		go test -run '^$$' -fuzz "^$${target##*/}\$$" -fuzztime $(FUZZTIME) ./internal/$${target%/*}/; done
	go test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) ./scenarios/
	$(if $(SINCE),scripts/corpus since '$(SINCE)' build/corpus $(BIN))

determinism: ### each seed gives the same history, in other processes and as modules of WebAssembly (SEEDS=1000, MODULE_SEEDS=30)
	LOCKBENCH_SEEDS=$(or $(SEEDS),1000) go test -timeout 3h -count 1 -v -run '^TestSimDeterminism$$' ./internal/virtual/child/
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -timeout 3h -count 1 -v -run '^(TestWholeSimulationAsAModule|TestModuleDeterminism)$$' ./internal/virtual/child/
	LOCKBENCH_SEEDS=$(MODULE_SEEDS) go test -C more -timeout 3h -count 1 -v -run '^TestModulesReplay$$' ./libraries/

bench: ### speed of checker, simulation and recorder (CASE=renewals for one case of the checker)
	go test -run '^$$' -bench '^BenchmarkJudge$$$(if $(CASE),/^$(CASE)$$)' -benchtime 1x -timeout 1h ./checker/bench/ $(FLAGS)
	$(if $(CASE),,@for n in 5 30 100; do GOGC=800 go test -run '^$$' -bench "^BenchmarkSim$$/^clients=$$n$$" -benchtime 1x ./internal/virtual/sim/ || exit 1; done)
	$(if $(CASE),,go test -run '^$$' -bench 'RecordOperation|RecordedLoop' -benchtime 1x -timeout 20m ./internal/history/)

clean: ## remove what was built; results stay
	rm -rf build

help: ### this list
	@sed -nE 's/^([a-z-]+):[^#]*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 21
	@echo && echo 'For contributors:'
	@sed -nE 's/^([a-z-]+):[^#]*### /  make \1	/p' $(MAKEFILE_LIST) | expand -t 21
