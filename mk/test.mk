# Tests. scripts/run_tests.py runs them and prints one line for each suite.

# -Zsanitizer is unstable; RUSTC_BOOTSTRAP allows it. With an explicit --target it does not apply to build scripts.
# The C compiler links the sanitizer's run-time library into the test programs.
COMMA := ,
ASAN_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
ASAN_LIB_DIR := $(BUILD)/asan

# Building cargo-deny takes minutes, so it is kept in .cache/tools; `make test` uses it when it is installed.
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(if $(shell command -v cargo-deny),,.cache/tools/bin/cargo-deny)

.cache/tools/bin/cargo-deny:
	@echo "installing cargo-deny $(CARGO_DENY_VERSION): this takes minutes, once"
	@$(CARGO) install -q --locked --version $(CARGO_DENY_VERSION) --root .cache/tools \
	    --target-dir $(TARGET_DIR)/tools cargo-deny

.PHONY: test test-fast check manual manual-reference soak soak-memory soak-kafka soak-tls soak-sasl soak-groups soak-pipeline soak-delays generations models fuzz bench bench-parts bench-loop bench-python bench-threads bench-sasl bench-admin bench-share bench-many-clients bench-workers soak-share deny

## test: run every test, real Kafka brokers included; ends with "N passed, N failed"
test:
	@$(PYTHON) scripts/run_tests.py $(SUITES)

## test-fast: run every test that needs no Kafka broker
test-fast:
	@$(PYTHON) scripts/run_tests.py --fast $(SUITES)

## check: formatting, clippy, layering, style and the dependency policy only
check: $(CARGO_DENY)
	@$(PYTHON) scripts/run_tests.py fmt clippy layers tidy licences deny config

## manual: test the statements of librdkafka's manual on a scripted broker (TESTS="Leader Timeouts" runs some)
manual: lib
	@$(PYTHON) tests/manual/run.py $(TESTS)

## manual-reference: run the same tests on librdkafka from PyPI, with its outcome where the two differ intentionally
manual-reference:
	@OTTLA_LIB_DIR=$$($(PYTHON) tests/real/reference.py) && export OTTLA_LIB_DIR && $(PYTHON) tests/manual/run.py $(TESTS)

## soak: run simulated worlds from new seeds until Ctrl-C, which prints the coverage
soak:
	@$(CARGO) run -q --profile sim -p ottla-sim -- --forever --start clock --jobs $(or $(JOBS),$(shell nproc)) $(SOAK_ARGS)

## soak-kafka: produce MESSAGES (2000000) idempotently over MINUTES (5) while real brokers fail; read back and check
soak-kafka: lib
	@$(PYTHON) bench/soak.py --minutes $(or $(MINUTES),5) --messages $(or $(MESSAGES),2000000) $(SOAK_ARGS)

## soak-tls: produce MESSAGES (1000000) over mutual TLS over MINUTES (3) while certificates are replaced; read back and check
soak-tls: lib
	@$(PYTHON) bench/soak_tls.py --minutes $(or $(MINUTES),3) --messages $(or $(MESSAGES),1000000) $(SOAK_ARGS)

## soak-sasl: produce MESSAGES (200000) in each phase over MINUTES (5) while sessions and credentials end; read back and check
soak-sasl: lib
	@$(PYTHON) bench/soak_sasl.py --minutes $(or $(MINUTES),5) --messages $(or $(MESSAGES),200000) $(SOAK_ARGS)

## soak-groups: check a group of 20 members that join, leave and are killed for MINUTES (10) with PROTOCOL (range)
soak-groups: lib
	@$(PYTHON) tests/real/groups.py --minutes $(or $(MINUTES),10) --protocol $(or $(PROTOCOL),range) $(SOAK_ARGS)

## soak-share: check a share group of ten members while members and brokers fail for MINUTES (10)
soak-share: lib
	@$(PYTHON) bench/soak_share.py --minutes $(or $(MINUTES),10) $(SOAK_ARGS)

## soak-pipeline: copy MESSAGES (1000000) exactly once through two stages for MINUTES (10) while brokers and processes fail
soak-pipeline: lib
	@$(PYTHON) bench/pipeline.py --minutes $(or $(MINUTES),10) --messages $(or $(MESSAGES),1000000) $(SOAK_ARGS)

## soak-memory: run the C tests on a library whose Rust code is instrumented by AddressSanitizer as well
soak-memory:
	@RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(RUSTFLAGS) -Zsanitizer=address" $(CARGO) rustc -q -p ottla-capi --lib \
	    --crate-type staticlib --target $(ASAN_HOST) --target-dir $(TARGET_DIR)/asan
	@mkdir -p $(ASAN_LIB_DIR)
	@$(CC) $(filter-out -Wl$(COMMA)--no-undefined,$(SHARED_LDFLAGS)) -o $(ASAN_LIB_DIR)/$(SONAME) \
	    -Wl,--whole-archive $(TARGET_DIR)/asan/$(ASAN_HOST)/debug/librdkafka.a -Wl,--no-whole-archive $(SYSTEM_LIBS)
	@ln -sf $(SONAME) $(ASAN_LIB_DIR)/librdkafka.so
	@OTTLA_LIB_DIR=$(abspath $(ASAN_LIB_DIR)) $(PYTHON) scripts/run_tests.py memory

## soak-delays: run the C and C++ tests while their threads are delayed at random, with new seeds for MINUTES (10)
soak-delays: lib
	@$(PYTHON) tests/delays/run.py --minutes $(or $(MINUTES),10) $(SOAK_ARGS)

## generations: test the features of real brokers of Kafka 0.8.2 to 2.8, in turn (VERSIONS="0.9.0.1 1.1.1" runs some)
generations: lib
	@$(PYTHON) tests/real/generations.py $(VERSIONS)

## models: run the thread models with PREEMPTIONS (1) more preemptions than make test, each for at most SECONDS (60)
models:
	@OTTLA_MODEL_PREEMPTIONS=$(or $(PREEMPTIONS),1) LOOM_MAX_DURATION=$(or $(SECONDS),60) \
	    $(PYTHON) scripts/run_tests.py models

## fuzz: search new inputs for all fuzz targets, guided by coverage, for SECONDS (60) in total
fuzz:
	@$(CARGO) run -q -p ottla-fuzz -- run --seconds $(or $(SECONDS),60)

## bench: compare this library with librdkafka and the Java client on the same real brokers (BENCH_ARGS=--publish: into docs)
bench: lib examples
	@$(PYTHON) bench/compare.py $(BENCH_ARGS)

## bench-parts: benchmark encoder, accumulator, checksum, partitioners, schema and log separately (PARTS=name runs one)
bench-parts:
	@$(CARGO) bench -q -p ottla-benches --bench parts -- --noplot $(PARTS)

## bench-loop: CPU time of a client's event loop without sockets, for 2 to 100 brokers and 8 to 4096 partitions
bench-loop:
	@$(CARGO) bench -q -p ottla-benches --bench client_loop -- $(BENCH_ARGS)

## bench-python: benchmark the loop produce, flush, repeat in Python, on this library and on librdkafka
bench-python: lib
	@$(PYTHON) bench/sync_loop.py $(BENCH_ARGS)

## bench-threads: compare the rates of 1 to 16 threads that produce on one client, on this library and on librdkafka
bench-threads: lib
	@$(PYTHON) bench/threads.py $(BENCH_ARGS)

## bench-sasl: compare the CPU time per message of SASL_PLAINTEXT with that of PLAINTEXT, on this library
bench-sasl: lib
	@$(PYTHON) bench/sasl_cost.py $(BENCH_ARGS)

## bench-many-clients: threads, memory and CPU time of 1,000 idle consumers in one process, beside librdkafka
bench-many-clients: lib
	@$(PYTHON) bench/many_clients.py $(BENCH_ARGS)

## bench-workers: compare compression and decompression without worker threads and with them, and on librdkafka
bench-workers: lib
	@$(PYTHON) bench/workers.py $(BENCH_ARGS)

## bench-admin: compare two large admin calls on this library and on librdkafka, on the same real brokers
bench-admin: lib
	@$(PYTHON) bench/admin.py $(BENCH_ARGS)

## bench-share: compare share consumers on this library, on librdkafka and on the Java client, on the same real broker
bench-share: lib
	@$(PYTHON) bench/share.py $(BENCH_ARGS)

## deny: check the dependency policy with cargo-deny (installs it in .cache/tools when missing)
deny: $(CARGO_DENY)
	@$(PYTHON) scripts/run_tests.py deny
