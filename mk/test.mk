# Tests. scripts/run_tests.py runs them and prints one line for each suite.

.PHONY: test test-fast check soak soak-kafka soak-groups soak-pipeline generations models fuzz bench bench-parts bench-python deny

## test: run every test, real Kafka brokers included; ends with "N passed, N failed"
test:
	@$(PYTHON) scripts/run_tests.py $(SUITES)

## test-fast: run every test that needs no Kafka broker
test-fast:
	@$(PYTHON) scripts/run_tests.py --fast $(SUITES)

## check: formatting, clippy, layering and style only
check:
	@$(PYTHON) scripts/run_tests.py fmt clippy layers tidy licences config

## soak: run simulated worlds from fresh seeds until told to stop (Ctrl-C tells what was covered)
soak:
	@$(CARGO) run -q --profile sim -p ottla-sim -- --forever --start clock --jobs $(or $(JOBS),$(shell nproc)) $(SOAK_ARGS)

## soak-kafka: MESSAGES (2000000) over MINUTES (5) by an idempotent producer while real brokers fail; read back and checked
soak-kafka: lib
	@$(PYTHON) tests/real/soak.py --minutes $(or $(MINUTES),5) --messages $(or $(MESSAGES),2000000) $(SOAK_ARGS)

## soak-groups: 20 members of a group come, leave and are killed for MINUTES (10) on real brokers, with PROTOCOL (range)
soak-groups: lib
	@$(PYTHON) tests/real/groups.py --minutes $(or $(MINUTES),10) --protocol $(or $(PROTOCOL),range) $(SOAK_ARGS)

## soak-pipeline: MESSAGES (1000000) over MINUTES (10) through two stages, exactly once, while brokers and processes fail
soak-pipeline: lib
	@$(PYTHON) tests/real/pipeline.py --minutes $(or $(MINUTES),10) --messages $(or $(MESSAGES),1000000) $(SOAK_ARGS)

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
	@$(PYTHON) tests/real/compare.py $(BENCH_ARGS)

## bench-parts: encoder, accumulator, checksum, partitioners, schema, log by themselves (PARTS=name for one of them)
bench-parts:
	@$(CARGO) bench -q -p ottla-benches --bench parts -- --noplot $(PARTS)

## bench-python: the loop produce, flush, repeat in Python, on this library and on librdkafka
bench-python: lib
	@$(PYTHON) tests/real/sync_loop.py $(BENCH_ARGS)

## deny: check the dependency policy with cargo-deny (installs it when missing)
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check
