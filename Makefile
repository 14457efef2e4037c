# `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BUF         := tools/node_modules/@bufbuild/buf-linux-x64/bin/buf
ifeq ($(wildcard $(BUF)),)
BUF         := tools/node_modules/.bin/buf
endif
GOTESTSUM   := go run gotest.tools/gotestsum@v1.13.0
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
EXHAUSTIVE  := go run github.com/nishanths/exhaustive/cmd/exhaustive@v0.17.1
TESTFLAGS   ?=
PACKAGES    ?= ./...

.PHONY: help run test conformance race fuzz fuzz-boundary race-call lint gen check-gen api-baseline docs bench soak build ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: ## start everything on this machine: etcd, registry, demo services, edge
	@go run ./cmd/sallyport-dev

build: ## build the programs into bin/
	go build -o bin/ ./cmd/... ./services/...

# The Node packages are the real MCP clients and buf. Without npm the tests that need them say so and are skipped.
# Not `npm ci`: it refuses a lock file without the Inspector's optional package for Windows, which has no release to
# lock. `npm install --no-save` takes every version and digest from the lock file all the same.
tools/node_modules/.stamp: tools/package.json tools/package-lock.json
	@if command -v npm >/dev/null; then \
	  (cd tools && npm install --no-save --ignore-scripts --no-progress --loglevel=error) && touch $@; \
	elif [ -n "$$CI" ]; then echo "npm is not installed: CI needs it" >&2; exit 1; \
	else echo "SKIP: npm is not installed, so tests with Node clients and buf are skipped" >&2; fi

# The conformance suite needs a newer Node than the rest; npm installs both, into a folder of their own.
test/conformance/node_modules/.stamp: test/conformance/package.json test/conformance/package-lock.json
	@cd test/conformance && npm ci --ignore-scripts --no-progress --loglevel=error >&2 && touch node_modules/.stamp

# The vendors' SDKs that judge the dialects, and the service of docs/assertions.md, need that newer Node as well. Without
# npm their tests say so and are skipped.
NODE_TESTS := test/dialects/vendors/node_modules/.stamp test/assertions/node_modules/.stamp
$(NODE_TESTS): %/node_modules/.stamp: %/package.json %/package-lock.json
	@if command -v npm >/dev/null; then \
	  (cd $* && npm ci --ignore-scripts --no-progress --loglevel=error >&2) && touch $@; \
	elif [ -n "$$CI" ]; then echo "npm is not installed: CI needs it" >&2; exit 1; \
	else echo "SKIP: npm is not installed, so the tests in $* are skipped" >&2; fi

conformance: test/conformance/node_modules/.stamp ## run the official MCP conformance suite
	@go run ./test/conformance

test: tools/node_modules/.stamp $(NODE_TESTS) ## run the tests
	$(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- $(TESTFLAGS) $(PACKAGES)

RACING := $(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- -race
race: ## run the tests of the packages that share state under the race detector
	$(RACING) ./participant/... ./internal/... ./edge/... ./service/... ./test/access

race-call: ## the same of the packages that a call passes; CI runs it
	$(RACING) ./participant/... ./internal/access ./internal/auth/... ./internal/catalog ./internal/dispatch \
	  ./internal/lifecycle ./internal/mcp ./edge/... ./service/...

# A number of runs (5000x), not a time: go test takes the end of a time for a failure where it comes at a bad moment.
FUZZ ?= 20000x
fuzz: ## run each fuzz target FUZZ times
	@set -e; grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do \
	  grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | sed 's/^func //' | while read -r target; do \
	    echo "$$dir $$target"; go test $$dir -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ); \
	  done; done

# The three that every call passes, each for about a minute: the decoder, arguments to the wire, the wire to JSON.
BOUNDARY := ./internal/mcp:FuzzDecode:350000x ./internal/gate:FuzzAgree:280000x ./internal/transcode:FuzzJSON:400000x
fuzz-boundary: ## run the fuzz targets of the boundary for about a minute each
	@set -e; for target in $(BOUNDARY); do \
	  IFS=: read -r dir name runs <<< "$$target"; \
	  echo "$$dir $$name"; go test $$dir -run '^$$' -fuzz "^$$name$$" -fuzztime $$runs; \
	done

lint: tools/node_modules/.stamp ## check Go and proto sources
	@test -z "$$(gofmt -l $$(git ls-files '*.go' ':!gen' ':!bench/gen'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go' ':!gen' ':!bench/gen'); exit 1; }
	go vet ./...
	$(STATICCHECK) $$(go list ./... | grep -v /gen/)
	$(EXHAUSTIVE) -d -typeonly 'dialect\.Dialect$$' $$(go list ./... | grep -v /gen/)
	$(BUF) lint
	$(BUF) format --diff --exit-code api
	$(BUF) format --diff --exit-code bench/proto
	$(BUF) breaking api --against api/baseline.binpb

gen: tools/node_modules/.stamp ## generate third_party/proto, gen/ and bench/gen/
	go run ./tools/vendorproto
	$(BUF) generate
	$(BUF) generate --template bench/buf.gen.yaml

check-gen: gen ## fail where gen/ or third_party/ is not up to date
	@git diff --exit-code --stat -- gen bench/gen third_party || { echo "gen/, bench/gen/ or third_party/ is not up to date: run make gen and commit"; exit 1; }
	@test -z "$$(git status --porcelain -- gen bench/gen third_party)" || { git status --porcelain -- gen bench/gen third_party; exit 1; }

BENCHFLAGS ?=
bench: ## compare the edge with others (bench/README.md); Linux with two processors
	go run ./bench/cmd/compare $(BENCHFLAGS)

SOAKFLAGS ?=
soak: ## half an hour of mixed traffic while services restart (bench/README.md)
	go run ./bench/cmd/soak $(SOAKFLAGS)

docs: ## write those parts of docs/ that come from the code
	UPDATE_DOCS=1 go test -count=1 -run 'Page' ./test/docs ./test/boundary ./test/clients

api-baseline: tools/node_modules/.stamp ## accept the protos as they are as the baseline of buf breaking
	$(BUF) build api --as-file-descriptor-set --exclude-source-info -o api/baseline.binpb

ci: ## what CI runs
	bash .ci/run

clean: ## remove what was built, and the data of make run
	rm -rf bin .sallyport tools/node_modules
