# strata.  The list of modules, and so the whole build, comes from src/LAYERS.
#
# make            build build/strata and build/strata-agent
# make demo       set up, build, and run the main job on a directory that the demo makes
# make check      set up, build, and run every test; the last line is 'N passed, M failed'
#                 (T=pattern: only the files whose name matches, or else only the tests whose name does)
# make check-user run the same tests as an ordinary user with subordinate ids (SUBIDS=0: without)
# make check-fresh  run both of the above on a new Debian root, as root and as users; this takes
#                 half an hour, so it is not in .ci/run: do it before an issue is called resolved
# make check-kernel  run the tests that depend on the kernel, in a virtual machine with Debian's kernel
#                 (KERNEL=package: another kernel; T=pattern: other tests, such as 'cli/exec', or . for all)
# make check-zfs  run the query methods on real pools, in that machine with OpenZFS 2.1 and with 2.3
#                 (ZFS=2.3: only that version)
# make check-mcp  run the tests of strata mcp, with the official client, the inspector and a real agent
# make check-no-openat2  run the tests about files in foreign trees, with openat2 refused
# make check-tsan run the tests of code with threads under ThreadSanitizer
# make asan       run all tests under ASan and UBSan
# make valgrind   run the unit tests under valgrind
# make static     build a fully static build/static/strata
# make soak       run the tests with a variable length for half an hour
# make fuzz       run the libFuzzer targets, each for FUZZ_SECONDS
# make lint       check format, layers, names and forbidden calls; run static analysis and shellcheck
# make format     rewrite the C sources according to .clang-format
# make tidy       run clang-tidy; this is slow, and a person reads the output
# make bench      measure against git, restic, borg and cp, and write bench/RESULTS.md
# make report     print the longest functions and files
# make install    install into PREFIX (/usr/local) below DESTDIR
# make clean      remove the build
# V=1             show the commands

ifeq ($(origin CC),default)
CC      := gcc
endif
B       ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)
FUZZ_SECONDS ?= 10
VERSION := $(shell cat VERSION)
MODULES := $(shell sed -n 's/^\([a-z][a-z\/]*\):.*/\1/p' src/LAYERS)
PROGRAM_MODULES := cli agent launcher
WARN    := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	   -Wno-unused-parameter $(if $(filter-out 0 false,$(CI)),-Werror)
CFLAGS  ?= -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
TOOL_CFLAGS = -std=gnu17 -D_GNU_SOURCE $(WARN) -pthread -MMD -MP $(CFLAGS)
ALL_CFLAGS = -DSTRATA_VERSION='"$(VERSION)"' -fno-strict-aliasing -ffunction-sections -fdata-sections \
	     -Isrc $(TOOL_CFLAGS)

# Small libraries are linked statically, because dynamic linking costs time at the start of every
# command.  core/library.c loads libarchive and libgit2 on demand.  The agent is copied to machines
# that may have none of these libraries, so it is fully static.  snappy is written in C++, so the
# part of the C++ runtime that it needs is linked, too.
SMALL_LIBS   := -lsqlite3 -lzstd -lsnappy -l:libstdc++.a -lnettle -lpcre2-8 -lbtrfsutil -levent_core
MIXED_LIBS   := -Wl,-Bstatic $(SMALL_LIBS) -Wl,-Bdynamic -static-libgcc
libs          = $(if $(1),$(SMALL_LIBS),$(MIXED_LIBS)) -lm -ldl -pthread
STATIC       :=
# The agent leaves out every function that it does not call, and with them the
# libraries that only such functions need.  It is sent over networks.
AGENT_STATIC := -static -Wl,--gc-sections -Wl,--strip-debug
# A warning would mean that a static program cannot do what it calls, such as dlopen of SQLite.
comma        := ,
AGENT_STRICT  = $(if $(AGENT_STATIC),$(if $(filter-out 0 false,$(CI)),-Wl$(comma)--fatal-warnings))

objects  = $(patsubst src/%.c,$(B)/obj/%.o,$(wildcard src/$(1)/*.c))
reverse  = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
SOURCES  := $(foreach m,$(MODULES),$(wildcard src/$(m)/*.c))
HEADERS  := $(foreach m,$(MODULES),$(wildcard src/$(m)/*.h))
archive  = $(patsubst %,$(B)/obj/%.a,$(1))
LIB_ARCHIVES := $(call archive,$(call reverse,$(filter-out $(PROGRAM_MODULES),$(MODULES))))
# An upward call goes through a function pointer, so the linker needs only one pass over the
# archives, in the order of the layers.

MAN_SOURCES := $(sort $(wildcard man/*.scd))
MAN_PAGES   := $(if $(shell command -v scdoc),$(MAN_SOURCES:man/%.scd=$(B)/man/%))

all: $(B)/strata $(B)/strata-agent $(MAN_PAGES)

# These files are rewritten only when their text changes.  New flags rebuild everything.  A new or
# removed source or man page rebuilds the targets that are made from all of them.
empty :=
space := $(empty) $(empty)
join_by_bar = $(subst $(space),|,$(strip $(1)))
quote = '$(subst ','\'',$(1))'
show  = $(if $(V),,@printf '%-5s %s\n' $(1) $(2); )
$(B)/obj/flags: TEXT = $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(STATIC) $(AGENT_STATIC)
$(B)/obj/sources: TEXT = $(sort $(SOURCES) $(MAN_SOURCES))
$(B)/obj/flags $(B)/obj/sources: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quote,$(TEXT)) | cmp -s - $@ || printf '%s\n' $(call quote,$(TEXT)) >$@

$(B)/obj/%.o: src/%.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,cc,$<)$(CC) $(ALL_CFLAGS) -c $< -o $@
$(foreach m,$(MODULES),$(eval $(call archive,$(m)): $(call objects,$(m)) $(B)/obj/sources ; \
	@rm -f $$@ && $(AR) rcs $$@ $$(filter %.o,$$^)))

# The launcher, which the process of a command executes on its way into a sandbox, is part of the
# library.  It has no C library, and so nothing that a C library would have to set up.
LAUNCHER_CFLAGS := -std=gnu17 -Isrc $(WARN) -Os -ffreestanding -fno-builtin -fno-pic -fno-stack-protector \
	-fno-asynchronous-unwind-tables $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns -no-pie) -static -nostdlib -nostartfiles \
	-s -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,noexecstack
$(B)/gen/launcher: src/launcher/launcher_main.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(LAUNCHER_CFLAGS) -Wl,-e,launcher_main_start -MMD -MP -MF $@.d -MT $@ -o $@ $<
$(B)/gen/launcher.o: $(B)/gen/launcher
	$(call show,cc,$@)printf '%s\n' '.section .rodata' '.globl launcher_image, launcher_image_size' \
		'launcher_image: .incbin "$<"' '1: .balign 8' 'launcher_image_size: .quad 1b - launcher_image' \
		'.section .note.GNU-stack,"",%progbits' | $(CC) -c -x assembler - -o $@
$(call archive,sandbox): $(B)/gen/launcher.o

# The seccomp filters of policies are made by a program that uses libseccomp.
$(B)/gen/mkcallfilter: tools/mkcallfilter.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) -Isrc $(TOOL_CFLAGS) -fno-sanitize=all -MF $@.d -MT $@ -o $@ $< -lseccomp
$(B)/gen/callfilter_table.c: $(B)/gen/mkcallfilter
	$(call show,gen,$@)$< >$@.tmp && mv $@.tmp $@
$(B)/gen/callfilter_table.o: $(B)/gen/callfilter_table.c $(B)/obj/flags
	$(call show,cc,$<)$(CC) $(ALL_CFLAGS) -c $< -o $@
$(call archive,sandbox): $(B)/gen/callfilter_table.o

# The text of --help comes from the man pages.
$(B)/gen/help.c: $(MAN_SOURCES) tools/man2help $(B)/obj/sources
	@mkdir -p $(@D)
	$(call show,gen,$@)tools/man2help $(MAN_SOURCES) >$@.tmp && mv $@.tmp $@
$(B)/gen/help.o: $(B)/gen/help.c $(B)/obj/flags
	$(call show,cc,$<)$(CC) $(ALL_CFLAGS) -c $< -o $@
$(B)/man/%: man/%.scd
	@mkdir -p $(@D)
	$(call show,man,$@)scdoc <$< >$@.tmp && mv $@.tmp $@

$(B)/strata: $(call objects,cli) $(B)/gen/help.o $(LIB_ARCHIVES)
	$(call show,link,$@)$(CC) $(CFLAGS) $(LDFLAGS) $(STATIC) -o $@ $^ $(call libs,$(STATIC))
$(B)/strata-agent: $(call objects,agent) $(LIB_ARCHIVES)
	$(call show,link,$@)$(CC) $(CFLAGS) $(LDFLAGS) $(AGENT_STATIC) $(AGENT_STRICT) -o $@ $^ $(call libs,$(AGENT_STATIC))

# Tests.  Programs in tests/tools inspect strata from outside, so they include no header of src/.
# faultlib.so, which tests preload, is never instrumented.  Programs in tests/linked are linked with
# strata's library.  They make files that bats tests need and that no strata command makes.
UNIT_TESTS  := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/*_test.c))
FUZZERS     := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_DRIVER := $(B)/tests/fuzz/driver.o
TEST_TOOLS  := $(patsubst tests/tools/%.c,$(B)/tests/%,$(wildcard tests/tools/*.c))
TEST_TOOLS  := $(patsubst %/faultlib,%/faultlib.so,$(TEST_TOOLS)) \
	$(B)/tests/treewalk-static $(B)/tests/scribble-static $(B)/tests/escape-static $(B)/tests/vforker-static \
	$(B)/tests/mapper-static $(B)/tests/forbid-static $(B)/tests/greedy-static $(B)/tests/netprobe-static $(B)/tests/peer-static
LINKED_TOOLS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/linked/*.c))

$(B)/tests/unit/%: tests/unit/%.c $(LIB_ARCHIVES) $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(ALL_CFLAGS) -MF $@.d -MT $@ $(LDFLAGS) -o $@ $< $(LIB_ARCHIVES) -lcmocka $(call libs)
$(B)/tests/linked/%: tests/linked/%.c $(LIB_ARCHIVES) $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(ALL_CFLAGS) -MF $@.d -MT $@ $(LDFLAGS) -o $@ $< $(LIB_ARCHIVES) $(call libs)
$(B)/tests/fuzz/%.o: tests/fuzz/%.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,cc,$<)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -c $< -o $@
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_DRIVER) $(LIB_ARCHIVES)
	$(call show,link,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(call libs)
$(B)/tests/%.so: tests/tools/%.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(TOOL_CFLAGS) -fno-sanitize=all -MF $@.d -MT $@ -shared -fPIC -o $@ $< -ldl
$(B)/tests/breakout: tests/tools/breakout.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(LAUNCHER_CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $<
$(B)/tests/%: tests/tools/%.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(TOOL_CFLAGS) -MF $@.d -MT $@ $(LDFLAGS) -o $@ $< $(call libs) -ljansson
# These programs are static, so that they can run in any tree.
$(B)/tests/%-static: tests/tools/%.c $(B)/obj/flags
	@mkdir -p $(@D)
	$(call show,link,$@)$(CC) $(TOOL_CFLAGS) -fno-sanitize=all -MF $@.d -MT $@ -static -o $@ $< -lnettle
.SECONDARY:

test-programs: all $(UNIT_TESTS) $(FUZZERS) $(TEST_TOOLS) $(LINKED_TOOLS)
fuzzers: $(FUZZERS)

# Two people, or two suites, may use one build directory at the same time.
LOCKED = mkdir -p $(B) && flock $(B)/lock $(MAKE) --no-print-directory \
	 $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

demo:
	@tools/setup build demo
	+@$(LOCKED) all >$(B)/demo.log 2>&1 || { cat $(B)/demo.log; exit 1; }
	@tools/demo $(B)

check:
	@tools/setup build check
	+@$(LOCKED) test-programs
	@T=$(call quote,$(T)) tools/run-tests $(B)

check-user:
	@tools/setup build check
	+@$(LOCKED) test-programs
	@T=$(call quote,$(T)) SUBIDS=$(SUBIDS) tools/check-user $(B)

check-mcp:
	+@$(MAKE) --no-print-directory check T=$(call quote,$(or $(T),cli/mcp))

# The tests of code that opens files in foreign trees.
NO_OPENAT2 := unit/(at|resolve|fileops|worker_race|scan|treeapply|treegraft|removal|restore|workspace|mounts)_test|cli/(worker|cp|bind|restore|export|import|in-place|checkout|names|query-folder|trace-bundle|trace-replay)$$
check-no-openat2:
	@tools/setup build check
	+@$(LOCKED) test-programs
	@T=$(call quote,$(or $(T),$(NO_OPENAT2))) REFUSED=openat2 $(B)/tests/refuse openat2 tools/run-tests $(B)

# The tests of code with threads.  Test programs that use unusual ways of fork and clone are not
# built for ThreadSanitizer.
TSAN_UNITS := par searchmany store store_sweep store_verify scan treeapply workspace workqueue observer restore
TSAN_CLI   := commit|checkout|fsck|trace-replay|worker
TSAN_BUILD  = B=$(B)/tsan CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=thread" \
	      LDFLAGS="-fsanitize=thread -static-libtsan" AGENT_STATIC=
check-tsan:
	@tools/setup build check
	+@mkdir -p $(B)/tsan && flock $(B)/tsan/lock $(MAKE) --no-print-directory -j$(JOBS) $(TSAN_BUILD) all \
		$(TSAN_UNITS:%=$(B)/tsan/tests/unit/%_test) $(B)/tsan/tests/treewalk $(B)/tsan/tests/linked/mkbundle \
		$(B)/tsan/tests/mktree $(B)/tsan/tests/faultlib.so
	@T=$(call quote,$(or $(T),unit/($(call join_by_bar,$(TSAN_UNITS)))_test|cli/($(TSAN_CLI))$$)) SANITIZED=1 \
		tools/run-tests $(B)/tsan

check-fresh:
	@T=$(call quote,$(T)) tools/check-fresh

check-kernel:
	@tools/setup build check kernel
	+@$(LOCKED) test-programs
	@T=$(call quote,$(T)) KERNEL=$(call quote,$(KERNEL)) tools/check-kernel $(B)

# The first time, tools/zfs builds the modules, which takes some ten minutes for each version.
check-zfs:
	@tools/setup build check kernel
	+@$(LOCKED) all
	@for version in $(or $(ZFS),2.1 2.3); do \
		T=$(call quote,$(T)) KERNEL_ZFS=$$version tools/check-kernel $(B) || exit 1; \
	done

# The runtimes are linked in, so that tests can still preload a library.  A -static program cannot
# use a sanitizer.
SANITIZE := -fsanitize=address,undefined
asan:
	+@SANITIZED=1 UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) --no-print-directory check B=$(B)/asan \
		CFLAGS="-O1 -g -fno-omit-frame-pointer $(SANITIZE) -fno-sanitize-recover=all" \
		LDFLAGS="$(SANITIZE) -static-libasan -static-libubsan" AGENT_STATIC=

valgrind:
	@tools/setup build check
	+@$(LOCKED) test-programs
	@T=$(call quote,$(T)) tools/run-tests --valgrind $(B)

static:
	+@$(MAKE) --no-print-directory all B=$(B)/static STATIC=-static-pie \
		CFLAGS="$(CFLAGS) -DLIBRARY_NONE"

# Kill loops, torn snapshots, a random writer and many clients, with large numbers of rounds.  make
# check runs the same tests with fewer rounds.
soak:
	+@KILL_ROUNDS=200 TORN_ROUNDS=1000 SCRIBBLE_ROUNDS=200 STRESS_CLIENTS=32 STRESS_SECONDS=60 STEADY_GAP=2.5 \
		BURST_LAG=2 OWNER_KILLS=100 \
		TEST_TIMEOUT=3600 $(MAKE) --no-print-directory check \
		T='cli/(kill|sandbox-kill|exec|debian|daemon|supervise|tournament|property)$$$$'

FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
fuzz:
	@tools/setup build lint
	+@mkdir -p $(B)/fuzz && flock $(B)/fuzz/lock $(MAKE) --no-print-directory -j$(JOBS) fuzzers \
		B=$(B)/fuzz CC=clang FUZZ_DRIVER= \
		CFLAGS="$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined" \
		LDFLAGS="-fsanitize=fuzzer,address,undefined"
	@FUZZ_SECONDS=$(FUZZ_SECONDS) T=$(call quote,$(T)) tools/run-fuzz $(B)/fuzz

# Static checks.
C_FILES  := $(SOURCES) $(HEADERS) $(wildcard tests/*/*.[ch] tools/*.c)
SCRIPTS   = $(shell grep -lE '^\#!.*[ /](ba)?sh$$' tools/* .ci/* bench/* tests/kernel/* tests/data/* 2>/dev/null) \
	    $(wildcard tests/cli/*.bash tests/kernel/*.bash)
LINTS    := lint-format lint-headers lint-layers lint-names lint-calls lint-cppcheck lint-shell lint-bats lint-tests

lint:
	@tools/setup build lint
	+@$(LOCKED) -k -Otarget $(LINTS)

lint-format:
	@clang-format --dry-run -Werror $(C_FILES)
lint-headers:
	@for h in $(HEADERS); do \
		$(CC) -std=gnu17 -D_GNU_SOURCE -Isrc -Wall -Werror -fsyntax-only -include $$h -x c /dev/null || exit 1; \
	done
lint-layers: $(call archive,$(MODULES))
	@tools/check-layers $(B)/obj
lint-names: $(call archive,$(MODULES))
	@tools/check-names $(B)/obj
lint-calls:
	@tools/check-calls
lint-cppcheck:
	@mkdir -p $(B)/cppcheck
	@cppcheck --quiet --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--std=c11 --library=posix,gnu --suppressions-list=tools/cppcheck.suppress \
		--cppcheck-build-dir=$(B)/cppcheck -D_GNU_SOURCE -DSTRATA_VERSION='""' -Isrc \
		src $(wildcard tests/tools/*.c tests/linked/*.c tests/fuzz/*.c tools/*.c)
lint-shell:
	@shellcheck -x $(SCRIPTS)
# SC2034, SC2154: a test sets variables for a helper, or a helper sets them for a test.
lint-bats:
	@shellcheck -x -S warning -e SC2034,SC2154 $(wildcard tests/*/*.bats)
lint-tests:
	@tools/check-tests

format:
	clang-format -i $(C_FILES)
tidy:
	@tools/setup build lint
	clang-tidy --quiet --checks=-clang-analyzer-valist.Uninitialized,-bugprone-suspicious-string-compare \
		$(SOURCES) -- -std=gnu17 -D_GNU_SOURCE -DSTRATA_VERSION='""' -Isrc

report:
	@tools/report
bench:
	@tools/setup build bench
	+@$(LOCKED) all
	@bench/run.sh $(B)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/strata $(B)/strata-agent $(DESTDIR)$(PREFIX)/bin
	for page in $(MAN_PAGES); do \
		install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} $$page || exit 1; \
	done

clean:
	rm -rf $(B)

-include $(shell find $(B)/obj $(B)/gen $(B)/tests -name '*.d' 2>/dev/null)
FORCE:
.DELETE_ON_ERROR:
.PHONY: all test-programs fuzzers demo check check-user check-fresh check-kernel check-zfs check-mcp \
	check-no-openat2 check-tsan asan valgrind soak static fuzz \
	lint $(LINTS) \
	format tidy report bench install clean FORCE
