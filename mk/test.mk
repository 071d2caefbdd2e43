# Tests. scripts/run_tests.py runs them and prints one line for each suite.

# The option that instruments code is unstable, which RUSTC_BOOTSTRAP allows. A target that is named keeps it away from
# build scripts. The C compiler links the run-time library of the sanitizer into the test programs.
COMMA := ,
ASAN_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
ASAN_LIB_DIR := $(BUILD)/asan

# Its build takes minutes, so that it is kept; `make test` checks with it where it is there.
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(if $(shell command -v cargo-deny),,.cache/tools/bin/cargo-deny)

.cache/tools/bin/cargo-deny:
	@echo "installing cargo-deny $(CARGO_DENY_VERSION): this takes minutes, once"
	@$(CARGO) install -q --locked --version $(CARGO_DENY_VERSION) --root .cache/tools \
	    --target-dir $(TARGET_DIR)/tools cargo-deny

.PHONY: test test-fast check manual manual-reference soak soak-memory soak-kafka soak-groups soak-pipeline generations models fuzz bench bench-parts bench-python deny

## test: run every test, real Kafka brokers included; ends with "N passed, N failed"
test:
	@$(PYTHON) scripts/run_tests.py $(SUITES)

## test-fast: run every test that needs no Kafka broker
test-fast:
	@$(PYTHON) scripts/run_tests.py --fast $(SUITES)

## check: formatting, clippy, layering, style and the dependency policy only
check: $(CARGO_DENY)
	@$(PYTHON) scripts/run_tests.py fmt clippy layers tidy licences deny config

## manual: the statements of librdkafka's manual on a scripted broker (TESTS="Leader Timeouts" for some)
manual: lib
	@$(PYTHON) tests/manual/run.py $(TESTS)

## manual-reference: the same tests on librdkafka itself, from PyPI, with its own outcome where the two differ on purpose
manual-reference:
	@OTTLA_LIB_DIR=$$($(PYTHON) tests/real/reference.py) && export OTTLA_LIB_DIR && $(PYTHON) tests/manual/run.py $(TESTS)

## soak: run simulated worlds from fresh seeds until told to stop (Ctrl-C tells what was covered)
soak:
	@$(CARGO) run -q --profile sim -p ottla-sim -- --forever --start clock --jobs $(or $(JOBS),$(shell nproc)) $(SOAK_ARGS)

## soak-kafka: MESSAGES (2000000) over MINUTES (5) by an idempotent producer while real brokers fail; read back and checked
soak-kafka: lib
	@$(PYTHON) bench/soak.py --minutes $(or $(MINUTES),5) --messages $(or $(MESSAGES),2000000) $(SOAK_ARGS)

## soak-groups: 20 members of a group come, leave and are killed for MINUTES (10) on real brokers, with PROTOCOL (range)
soak-groups: lib
	@$(PYTHON) tests/real/groups.py --minutes $(or $(MINUTES),10) --protocol $(or $(PROTOCOL),range) $(SOAK_ARGS)

## soak-pipeline: MESSAGES (1000000) over MINUTES (10) through two stages, exactly once, while brokers and processes fail
soak-pipeline: lib
	@$(PYTHON) bench/pipeline.py --minutes $(or $(MINUTES),10) --messages $(or $(MESSAGES),1000000) $(SOAK_ARGS)

## soak-memory: the C tests on a library whose Rust code is instrumented by AddressSanitizer, too
soak-memory:
	@RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(RUSTFLAGS) -Zsanitizer=address" $(CARGO) rustc -q -p ottla-capi --lib \
	    --crate-type staticlib --target $(ASAN_HOST) --target-dir $(TARGET_DIR)/asan
	@mkdir -p $(ASAN_LIB_DIR)
	@$(CC) $(filter-out -Wl$(COMMA)--no-undefined,$(SHARED_LDFLAGS)) -o $(ASAN_LIB_DIR)/$(SONAME) \
	    -Wl,--whole-archive $(TARGET_DIR)/asan/$(ASAN_HOST)/debug/librdkafka.a -Wl,--no-whole-archive $(SYSTEM_LIBS)
	@ln -sf $(SONAME) $(ASAN_LIB_DIR)/librdkafka.so
	@OTTLA_LIB_DIR=$(abspath $(ASAN_LIB_DIR)) $(PYTHON) scripts/run_tests.py memory

## generations: what a client can do, on real brokers of Kafka 0.8.2 to 2.8 in turns (VERSIONS="0.9.0.1 1.1.1" for some)
generations: lib
	@$(PYTHON) tests/real/generations.py $(VERSIONS)

## models: run the thread models with PREEMPTIONS more preemptions than make test (default 1), each for SECONDS at most (60)
models:
	@OTTLA_MODEL_PREEMPTIONS=$(or $(PREEMPTIONS),1) LOOM_MAX_DURATION=$(or $(SECONDS),60) \
	    $(PYTHON) scripts/run_tests.py models

## fuzz: look for new inputs to all fuzz targets, guided by coverage, for SECONDS in all (default 60)
fuzz:
	@$(CARGO) run -q -p ottla-fuzz -- run --seconds $(or $(SECONDS),60)

## bench: this library beside librdkafka and the Java client on the same real brokers (BENCH_ARGS=--publish: into docs)
bench: lib examples
	@$(PYTHON) bench/compare.py $(BENCH_ARGS)

## bench-parts: encoder, accumulator, checksum, partitioners, schema, log by themselves (PARTS=name for one of them)
bench-parts:
	@$(CARGO) bench -q -p ottla-benches --bench parts -- --noplot $(PARTS)

## bench-python: the loop produce, flush, repeat in Python, on this library and on librdkafka
bench-python: lib
	@$(PYTHON) bench/sync_loop.py $(BENCH_ARGS)

## deny: check the dependency policy with cargo-deny (installs it in .cache/tools when missing)
deny: $(CARGO_DENY)
	@$(PYTHON) scripts/run_tests.py deny
