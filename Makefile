# make, or make help, lists the targets. Go and make are all that most need.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build test check race slow e2e soak cluster cluster-e2e cluster-bench endurance interop bench soak-bench fuzz lint clean

# The version of the one tool that is not part of Go. It is built from source at
# its first use, which takes a minute or two, and kept in .cache.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := .cache/golangci-lint-$(GOLANGCI_VERSION)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
FUZZRUNS ?= 200000x
# How long make endurance lasts, and what it is about.
DURATION ?= 2m
ENGINE ?= reactor
# All build tags of tests; make vet and make lint look at these files too.
TAGS := e2e,interop,soak,cluster,bench,endurance
# The race detector needs a C compiler.
RACE := $(shell command -v "$$(go env CC)" >/dev/null 2>&1 && [ "$$(go env CGO_ENABLED)" = 1 ] && echo -race)

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## serve built-in routes and upstreams, and print commands to try
	@go build -o bin/ ./cmd/ramjet-ingressd
	@exec bin/ramjet-ingressd --demo

build: ## the programs, static, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/...

test: check race e2e cluster-e2e lint ## all that has to pass: format, vet, lint, laws, race tests, end to end, in a cluster

check: ## format and go vet, also for a system without epoll
	@bad="$$(gofmt -l cmd internal test bench)"; [ -z "$$bad" ] || { echo "gofmt -w would change:" $$bad; exit 1; }
	go vet -tags $(TAGS) ./...
	GOOS=darwin go vet ./...

race: ## go test ./... with the race detector
	@[ -n '$(RACE)' ] || echo 'no C compiler: the tests run without the race detector'
	go test $(RACE) -timeout 20m $$(go list ./... | grep -v -e /engine/nethttp -e /engine/reactor)
	go test $(RACE) -timeout 20m -p 1 ./internal/engine/nethttp ./internal/engine/reactor # alone: some of it is about real time

slow: ## the suite of the engines with ten times the repetitions (about a minute)
	RAMJET_SLOW=1 go test $(RACE) -count=1 -timeout 20m ./internal/engine/...

e2e: ## the real binaries as child processes, with either engine (about two minutes)
	go test -tags e2e -count=1 -timeout 20m ./test/e2e ./test/soak
	DAEMON_ENGINE=reactor go test -tags e2e -count=1 -timeout 20m ./test/e2e

soak: ## supervisors killed at 200 instants, and full disks if root (about two minutes)
	@[ "$$(id -u)" = 0 ] || echo 'not root: what a full disk leads to is not tested, that takes a mount'
	go test -tags e2e,soak -count=1 -timeout 30m -v -run "Killed200$$([ "$$(id -u)" != 0 ] || echo '|DiskFull')" ./test/soak

cluster: ## a real Kubernetes control plane to play with; PLAY=--daemon: and the daemon
	@go build -o .cache/play ./test/cluster/play
	@exec .cache/play $(PLAY)

cluster-e2e: ## the real daemon against it (6 minutes, 10 more at the first use); needs root and ip
	@go run ./test/cluster/play --build
	go test -tags cluster -count=1 -p 1 -timeout 30m ./test/cluster ./internal/kube ./test/kube

cluster-bench: ## 2,000 Ingresses, 500 certificates, 10,000 other Secrets: times and memory (4 minutes)
	@go run ./test/cluster/play --build
	go test -tags cluster,bench -count=1 -timeout 30m -run TestScale -v ./test/kube

endurance: ## mixed load, changes, churn for DURATION (2m), ENGINE (reactor); needs root and ip
	@go run ./test/cluster/play --build
	go test -tags endurance -count=1 -timeout 0 -v ./test/endurance -args -for $(DURATION) -engine $(ENGINE)

interop: ## a real nginx behind, HAProxy in front; needs nginx, curl, haproxy
	go test -tags interop -count=1 -timeout 20m ./test/interop

bench: ## the micro-benchmarks, one pass
	go test -run '^$$' -bench . -benchmem ./...
	@echo
	@echo 'Against nginx (needs nginx, wrk, nghttp2-client): bench/compare.sh, see bench/README.md'

soak-bench: ## soak on plans of ten million events: speed, and memory at most (1 GB of disk)
	go build -o bin/ ./cmd/soak
	go run ./bench/plans bin/soak

fuzz: ## each fuzz target with FUZZRUNS inputs (200000x)
	test/fuzz $(FUZZRUNS)

lint: $(GOLANGCI)/golangci-lint ## golangci-lint with .golangci.yml
	$(GOLANGCI)/golangci-lint run ./...

$(GOLANGCI)/golangci-lint:
	GOBIN=$(CURDIR)/$(GOLANGCI) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

clean: ## what the targets above made
	rm -rf bin .cache bench/results
