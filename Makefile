# The targets of this repository; `make` alone lists them. GNU make 3.81, the version of macOS, suffices.

ADDR ?= 127.0.0.1:8080
DATA ?= data
CHAOS ?= long
SEED ?= 1

VERSION := $(shell sh scripts/dist/version.sh)
# The commit, because Go itself records none in a worktree or with -buildvcs=false.
REVISION := $(shell [ -e .git ] && git rev-parse HEAD 2>/dev/null)
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
WITHPG  := go run ./internal/pglocal/pgtest/withpg

# `make race` tests the CONCURRENT packages. It does not instrument the SERIAL packages, which only compute and start no
# goroutines outside tests: that would make them much slower.
SERIAL := github.com/loadaware/loadaware/internal/ml/...
CONCURRENT := ./internal/service/... ./internal/trainer/... ./internal/httpapi/... ./internal/store/... ./internal/pglocal/...

# Test binaries without debug information link in half the time. Stack traces stay complete.
STRIP := -ldflags '-s -w'

export CGO_ENABLED ?= 0

.PHONY: campaign-trial test-pages test-pages-airflow screenshots doctor fuzz soak bench-http backup-drill help run test build setup gen verify lint lint-words lint-python race e2e test-airflow test-clients lint-api chaos chaos-short bench-ml deploy-test peak peak-table check-image dist dist-repeat dist-play licences sbom vuln cover clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: build ## serve with demo data (ADDR=127.0.0.1:8080 DATA=data, or DATABASE_URL)
	@test -n "$$DATABASE_URL" || sh scripts/setup-postgres.sh
	@LOADAWARE_ADDR="$(ADDR)" LOADAWARE_DATA="$(DATA)" exec bin/loadaware serve --demo

test: setup ## run the Go tests with a private PostgreSQL (VET=off skips go vet, which make verify and make lint run; RACED=off skips the packages of make race)
	$(WITHPG) go test $(STRIP) $(if $(VET),-vet=$(VET)) -timeout 30m $(if $(filter off,$(RACED)),$$(go list ./... | grep -vxF "$$(go list $(CONCURRENT))"),./...)

build: ## build bin/loadaware
	go build -trimpath -ldflags '-s -w -X main.buildVersion=$(VERSION) -X main.buildRevision=$(REVISION)' -o bin/loadaware ./cmd/loadaware

setup: ## find PostgreSQL 15 or newer, or install its package
	@sh scripts/setup-postgres.sh

gen: ## generate the Go code and the Python client from openapi.yaml
	go generate ./api
	sh api/python/generate.sh

verify: ## fail if generated code or go.mod is stale, a file is not formatted, or go vet reports an error (VET=off skips go vet, which make lint also runs)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	mkdir -p "$$tmp/api" "$$tmp/internal" && cp -R internal/dataframe "$$tmp/internal" && cp -R api/*.* api/templates api/docspage api/compress "$$tmp/api" && cp -R openapi.yaml go.mod go.sum "$$tmp" && (cd "$$tmp" && go generate ./api) && \
	{ diff -r -x python -x released api "$$tmp/api" || { echo 'api is stale: run make gen' >&2; exit 1; }; }
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && sh api/python/generate.sh "$$tmp/client" && \
	{ diff -r -x __pycache__ api/python/src/loadaware_client "$$tmp/client" || { echo 'the Python client is stale: run make gen' >&2; exit 1; }; }
	@bad=$$(gofmt -l api cmd internal migrations scripts) && \
	{ test -z "$$bad" || { echo "not formatted by gofmt: $$bad" >&2; exit 1; }; }
	$(if $(filter off,$(VET)),,go vet ./...)
	go mod tidy -diff

lint: ## run golangci-lint with the rules of .golangci.yaml
	go run $(LINT) run --allow-parallel-runners ./...

# A copy of the lock file from which the virtual environment of the Python linters was made.
.cache/dev/installed.txt: api/python/requirements/dev.txt
	@python3 -m venv --clear .cache/dev && .cache/dev/bin/pip install -q --disable-pip-version-check -r $<
	@cp $< $@

lint-words: .cache/dev/installed.txt ## search hand-written text for the words that docs/glossary.md replaces
	@sh scripts/language/check.sh .cache/dev/bin/codespell

lint-python: .cache/dev/installed.txt ## check the Python code with ruff and mypy
	cd api/python && ../../.cache/dev/bin/ruff check src tests examples && ../../.cache/dev/bin/mypy

race: setup ## run the tests of the concurrent packages under the race detector, except long ones (needs a C compiler; RACE=long runs the long ones, too)
	CGO_ENABLED=1 $(WITHPG) go test $(STRIP) -vet=off -timeout 30m $(if $(filter long,$(RACE)),,-short) -race -gcflags='$(SERIAL)=-race=false' $(CONCURRENT)

e2e: setup build ## test the built binary end to end: import, predictions, an OOM kill, a training, a crash and a shutdown
	bash scripts/e2e.sh

test-airflow: setup build ## run the provider's tests, and real DAGs on Airflow 2.11 and 3 with a fake Kubernetes and the built server
	bash scripts/test-airflow.sh

campaign-trial: setup build ## reproduce a campaign's runs on a real Airflow while the service, PostgreSQL and the scheduler are killed (AIRFLOW=3 or 2.11, RUNS=380, KILLS=20 of each, SEED=1, MINUTES=longest time; Linux)
	bash scripts/test-airflow.sh $(or $(AIRFLOW),3) campaign --runs $(or $(RUNS),380) --kills $(or $(KILLS),20) --seed $(SEED) $(if $(MINUTES),--minutes $(MINUTES))

test-pages: setup build ## use the dashboard with Chromium and check its accessibility (needs chromium and Node.js; PAGES=short for fewer checks)
	bash scripts/dashboard/run.sh $(filter short,$(PAGES))

test-pages-airflow: setup build ## check the dashboard inside the pages of Airflow 2.11 and 3 (needs chromium; PICTURES=folder for screenshots)
	bash scripts/dashboard/airflow.sh $(PICTURES)

screenshots: setup build ## make the pictures of docs/dashboard.md (needs chromium and Node.js)
	bash scripts/dashboard/run.sh docs

lint-api: ## check openapi.yaml with Spectral and Redocly (needs Node.js 20), and its compatibility with the last release
	bash scripts/clients/lint.sh
	sh scripts/dist/compatible.sh

test-clients: setup build ## generate clients from openapi.yaml in four languages and run them against the built server (needs Node.js 20, Java 17, Maven)
	bash scripts/clients/run.sh

chaos: setup build ## inject faults under load and check that no report is lost; 40 minutes (CHAOS=long or short, SEED=1, ONLY=overload,toxics)
	go run ./scripts/chaos -form $(CHAOS) -seed $(SEED) -only "$(ONLY)"

chaos-short: ## run the chaos trials with few repetitions; 3 minutes
	@$(MAKE) chaos CHAOS=short

fuzz: setup build ## send malformed requests and check every answer against openapi.yaml (FUZZ=long or short, SEED=1, ONLY=requests,native)
	go run ./scripts/fuzz -form $(or $(FUZZ),long) -seed $(SEED) -only "$(ONLY)"

soak: setup build ## load two replicas and check that memory, goroutines and file descriptors do not grow (SOAK=long or short, RATE=requests per second; 60 % of the highest rate if omitted)
	go run ./scripts/soak -for $(if $(filter short,$(SOAK)),90s,30m) -rate $(or $(RATE),0) -seed $(SEED)

bench-ml: ## run the benchmarks of the learning packages
	go test -run '^$$' -bench . -benchmem ./internal/ml/... ./internal/taskmodel/...

bench-http: setup build ## compare the service with a bare echo server, INSERT and COPY in one run (BENCH=short, full or long)
	@sh scripts/bench-http/setup.sh
	@go build -trimpath -o bin/bench-http ./scripts/bench-http
	@bin/bench-http -form "$(or $(BENCH),full)"

backup-drill: setup build ## back up a filled database, restore it, and compare the copy with the original
	$(WITHPG) bash scripts/backup-drill.sh

deploy-test: setup build ## check the alert rules, the Grafana dashboard's queries and the Helm chart with Prometheus, helm and kubeconform
	sh scripts/deploy/check.sh

peak: ## build bin/loadaware-peak, which measures the peak memory of a program in its container (Linux)
	GOOS=linux go build -trimpath -ldflags '-s -w -X main.buildVersion=$(VERSION)' -o bin/loadaware-peak ./cmd/loadaware-peak

peak-table: ## measure the overhead and the accuracy of loadaware-peak
	bash scripts/peak-table.sh

check-image: setup ## run the service as its container image does: read-only file system, unprivileged user, no capability (Linux; make must run as root)
	$(WITHPG) bash scripts/check-image.sh

dist: ## build into dist/ what users install: programs, package, chart, images, lists of components, checksums (DIST=short: only Linux on this architecture, no lists)
	cd scripts/dist/pack && go vet . && go test .
	bash scripts/dist/dist.sh $(filter short,$(DIST))

dist-repeat: ## build dist/ from two fresh clones and compare the bytes; 10 minutes
	bash scripts/dist/repeat.sh

dist-play: setup ## install and use what is in dist/ in a fresh folder, with Airflow 2.11 and 3 (Linux; the check of the image must run as root)
	$(WITHPG) bash scripts/dist/play.sh

licences: ## write docs/licences.md from the components in dist/ (after make dist)
	bash scripts/dist/dist.sh licences

sbom: build ## write the bill of materials of bin/loadaware to bin/loadaware.cdx.json (CycloneDX)
	@python3 -m venv .cache/sbom && .cache/sbom/bin/pip install -q --disable-pip-version-check -r api/python/requirements/sbom.txt
	SYFT_CHECK_FOR_APP_UPDATE=false .cache/sbom/bin/syft scan file:bin/loadaware -q --source-name loadaware -o cyclonedx-json=bin/loadaware.cdx.json

vuln: ## search the called code for known vulnerabilities (needs access to vuln.go.dev, or VULNDB=file:///folder with a local copy; VULNDB=probe only checks that the search finds a known example)
	@sh scripts/dist/vuln.sh $(VULNDB)

cover: setup ## run the Go tests and print the statement coverage
	$(WITHPG) go test -coverpkg=./... -coverprofile=coverage.out ./...
	@go tool cover -func=coverage.out | tail -n 1

doctor: build ## diagnose the service that `make run` started (ADDR and DATA as for run)
	@LOADAWARE_ADDR="$(ADDR)" LOADAWARE_DATA="$(DATA)" bin/loadaware doctor

clean: ## remove the build results; the data folder stays
	rm -rf bin dist coverage.out
