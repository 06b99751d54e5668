# Two commands do all the set-up on a fresh Debian machine with Swift: `make demo` and `make test`.

.PHONY: demo test build docs deb examples bench bench-quick bench-build sanitize fuzz soak format format-check clean

demo:
	@scripts/setup.sh demo
	for product in mppaths mpconnect mplab mprun side-by-side mpstream mpsync; do \
		scripts/swift.sh build -c release --traits HTTP,Outbox --product $$product || exit; done
	@scripts/demo.sh "$$(scripts/swift.sh build -c release --traits HTTP,Outbox --show-bin-path)"

test:
	@scripts/setup.sh test
	@scripts/test.sh --traits Service,HTTP,Outbox

build:
	@scripts/setup.sh
	swift build

# The pages in Documentation.docc, with every public symbol, by the toolchain's own docc. Warnings are errors.
docs:
	@scripts/setup.sh docs
	@scripts/docs.sh

# One Debian package of all commands, with the daemon's units, in .build/deb. lintian, where it is installed, checks it.
deb:
	@scripts/setup.sh deb
	@scripts/deb.sh

# A package of its own, whose dependencies take minutes to build. Both programs are then run against nginx.
examples:
	@scripts/setup.sh test
	swift build --package-path Examples
	scripts/examples.sh "$$(swift build --package-path Examples --show-bin-path)"

# This library beside what would be used instead: all rows but the ten-minute ones in some 4 hours, or a part in
# under 5 minutes; the builds come on top. Nothing else should run meanwhile.
bench: bench-build
	Benchmarks/mpbench --json Benchmarks/results.json --pictures Benchmarks/pictures

bench-quick: bench-build
	Benchmarks/mpbench --quick --json Benchmarks/results-quick.json

bench-build:
	@scripts/setup.sh bench
	for product in mplab mppaths mpconnect mpstream; do \
		scripts/swift.sh build -c release --traits HTTP --product $$product || exit; done
	swift build -c release --package-path Benchmarks

# Each sanitizer needs its own build of everything. LeakSanitizer stays off: the commands leave while a read
# of standard input still waits, and it would call that read's buffer a leak. The
# tests of memory and of the lab's rates and times are left out: a sanitizer's own cost is most of what they see. So are, of
# ThreadSanitizer, those of programs under mprun: some make threads that its runtime does not know, and it aborts.
SANITIZED = SANITIZED=1 PATH="$(CURDIR)/.build/programs/go/bin:$$PATH" scripts/test.sh --traits Service,HTTP,Outbox
sanitize:
	@scripts/setup.sh test
	mkdir -p .build-tsan
	clang -shared -fPIC -O1 -o .build-tsan/tsan-order.so scripts/tsan-order.c -ldl
	LD_PRELOAD=$(CURDIR)/.build-tsan/tsan-order.so TSAN_OPTIONS="$${TSAN_OPTIONS:-halt_on_error=1 suppressions=$(CURDIR)/scripts/tsan-suppressions.txt}" \
		LEFT_OUT='NetworkLabTests|EndToEndTests|ProgramSteeringTests|ProgramMatrixTests' \
		$(SANITIZED) --sanitize=thread --scratch-path .build-tsan
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=0}" LEFT_OUT='NetworkLabTests|EndToEndTests' \
		$(SANITIZED) --sanitize=address --scratch-path .build-asan

# Coverage-guided fuzzing of all that reads bytes from outside, each target for so long: `make fuzz SECONDS=3000` is a
# night's run, `make fuzz TARGETS=dbus` one target's, `make fuzz OPTIMIZATION=-Onone` soon built. A crash leaves its input in
# .build-fuzz/crashes.
SECONDS = 20
fuzz:
	@scripts/setup.sh
	@scripts/fuzz.sh $(SECONDS) $(TARGETS)

# A thousand connections of one process in a lab, a fault every GAP seconds, for so many SECONDS: fails where descriptors,
# threads or memory grow, or a connection is lost. A day has 17,280 faults of 5 s; a shorter GAP compresses it.
GAP = 5
soak: SECONDS = 1200
soak:
	@scripts/setup.sh
	swift build -c release --product mplab
	swift build -c release --product soak
	scripts/soak.sh "$$(swift build -c release --show-bin-path)" $(SECONDS) $(GAP)

FORMATTED = Package.swift Sources Tests Fuzz Examples Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Micro

format:
	swift format format --in-place --recursive --parallel $(FORMATTED)

# The words of comments and names, too, and that folders import downward.
format-check:
	@scripts/setup.sh docs
	@scripts/check-prose.py
	@scripts/check-imports.py
	swift format lint --strict --recursive --parallel $(FORMATTED)

clean:
	rm -rf .build .build-tsan .build-asan .build-fuzz
