# A thin front for the CMake presets; docs/building.md tells what each target does.
# J: parallel jobs; TESTS: parallel tests, one more, since some sleep.
# T: the fuzz target of `make fuzz T=corpus_jsonl`.
J ?= $(shell nproc 2>/dev/null || echo 2)
TESTS ?= $(shell expr $(J) + 1)
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS_EACH ?= 60
LONG ?= OFF

.PHONY: all commands release dev wheel wheel-manylinux check check-rest check-python check-python-manylinux check-spark asan ct tsan asan-long advice-long schedules check-browser check-every check-long fuzz format bench results install clean

all: release

# Without these cmake's own words would not help.
commands:
	@sh tools/need-commands

release: commands
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release -j $(J)
	@ln -sfn release/fre-e2t build/fre-e2t

dev: commands
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -j $(J)

check: dev
	ctest --preset dev -j $(TESTS)

# What `make asan` does not run.
check-rest: dev
	ctest --preset dev -j $(TESTS) -LE '^sanitized$$'

# The Python wheel, build/wheels/*.whl, and its tests in an environment without a compiler.
wheel: commands
	tools/build-wheel

# For every Linux with glibc 2.28 or later, as it is handed to others.
wheel-manylinux: commands
	tools/build-wheel manylinux

check-python: dev wheel
check-python-manylinux: dev wheel-manylinux
check-python check-python-manylinux:
	FRE_LONG_TESTS=1 FRE_WHEEL="$$(ls $(CURDIR)/build/wheels/*.whl)" FRE_E2T=$(CURDIR)/build/dev/fre-e2t \
		python3 -m pytest -q -rs -p no:cacheprovider tests/integration/test_wheel.py

# The tests of Spark, on a cluster on this machine; installs what they need.
check-spark:
	sh tools/run-spark

asan: commands
	@cmake --preset asan -DFRE_LONG=$(LONG) --log-level=WARNING >/dev/null
	@cmake --build --preset asan -j $(J)
	ctest --preset asan -j $(TESTS)

# With the tests of numbers that take minutes under sanitizers.
asan-long:
	$(MAKE) asan LONG=ON

# Secrets poisoned under valgrind: no branch and no address may depend on one.
ct: commands
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -j $(J) --target constant-time

# Servers, and what else has threads, under ThreadSanitizer; without address randomisation, which gcc 12's is not at
# home with everywhere.
tsan: commands
	@cmake --preset tsan --log-level=WARNING >/dev/null
	@cmake --build --preset tsan -j $(J) --target threads
	setarch -R ctest --preset tsan -j $(TESTS) -L '^threads$$'

# Every fuzz target for a minute, or one: make fuzz T=name
fuzz: commands
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -j $(J)
	tools/check-runpath build/fuzz
	tools/run-fuzz build/fuzz $(SECONDS_EACH) $(T)

# A thousand requests: each number of each refusal is followed; the planned rate against a scan.
advice-long: dev
	FRE_ADVICE_REQUESTS=1000 build/dev/test_privacy_advice
	FRE_PLAN_RATES=1 build/dev/test_privacy_plan

# Reports in a headless Chromium, which is not among the packages of the tests.
check-browser: dev
	FRE_BROWSER=required ctest --preset dev -R '^browser-'

# A million schedules of the protocol, over numbers in the place of curves.
schedules: dev
	seq 0 18200 345800 | xargs -P $(J) -I{} env FRE_SCHEDULES=18200 FRE_SCHEDULES_FIRST={} \
		build/dev/schedules-numbers

# What `make check` takes a part of: every combination that is in these tests.
check-every: dev
	FRE_LONG_TESTS=1 ctest --preset dev -j $(TESTS) \
		-R '^(test_privacy_(plan|paper|joint|distributed)|test_audit|test_curator_canary|integration-(audit|few_files|inputs|languages|model_files|plan|printed_numbers|serve_clocks|serve_fronts|terminal))$$'

check-long: check check-every advice-long schedules asan-long tsan fuzz

format:
	tools/format

bench: release
	build/fre-e2t bench

# Tables of docs/results.md, hours of two processors: levels against the grid, then one a file of experiments/.
# DATA: a folder with the collections that docs/results.md names.
TABLES = tools/experiments/tables.py --work build/experiments --docs docs/results.md
OTHERS = intents packages private-evolution
results: release
	tools/experiments/levels.py $(DATA) --work build/levels --docs docs/results.md
	mkdir -p build/experiments
	ln -sfn "$$(tools/get-embedder bge-small-en)" bge-small-en-v1.5.f16.gguf
	$(TABLES) --jobs 1 experiments/private-evolution.json
	$(TABLES) $$(ls experiments/*.json | grep -v $(OTHERS:%=-e %))
	$(TABLES) --data $(DATA)/clinc-oos.jsonl.gz experiments/intents.json
	zcat $(DATA)/package-summaries.jsonl.gz | head -n 100000 | gzip -n >build/experiments/packages.jsonl.gz
	$(TABLES) --data build/experiments/packages.jsonl.gz experiments/packages.json

install: release
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"
	@tools/check-runpath --installed build/release/install_manifest.txt "$(DESTDIR)"

clean:
	rm -rf build
