# strata.  The module list, and so the build, comes from src/LAYERS.
#
# make            build/strata and build/strata-agent
# make demo       set up, build, run the main job on a directory it makes itself
# make check      set up, build, run every test; closes with 'N passed, M failed'
# make check-user the same as an ordinary user
# make asan       the whole suite under ASan and UBSan
# make static     fully static build/static/strata
# make fuzz       libFuzzer targets, FUZZ_SECONDS each
# make lint       format, layers, names, forbidden calls, static analysis, shellcheck
# make bench      measure against git, restic, borg and cp; writes bench/RESULTS.md
# make report     the longest functions and files
# make install    PREFIX=/usr/local

CC      ?= gcc
B       ?= build
PREFIX  ?= /usr/local
VERSION := $(shell cat VERSION)
MODULES := $(shell sed -n 's/^\([a-z][a-z]*\):.*/\1/p' src/LAYERS)
PROGRAM_MODULES := cli agent
WARN    := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	   -Wno-unused-parameter $(if $(CI),-Werror)
CFLAGS  ?= -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSTRATA_VERSION='"$(VERSION)"' $(WARN) -fno-strict-aliasing \
	   -pthread -Isrc -MMD -MP $(CFLAGS)

# Small libraries are linked statically: every command pays for dynamic linking
# at start-up.  libarchive is loaded on demand by core/tar.c.
STATIC_LIBS  := -lsqlite3 -lzstd -lnettle -ljansson -lpcre2-8
LIBS         := -Wl,-Bstatic $(STATIC_LIBS) -Wl,-Bdynamic -lm -ldl -pthread

objects  = $(patsubst src/%.c,$(B)/obj/%.o,$(wildcard src/$(1)/*.c))
reverse  = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
archive  = $(patsubst %,$(B)/obj/%.a,$(1))
LIB_ARCHIVES := $(call archive,$(call reverse,$(filter-out $(PROGRAM_MODULES),$(MODULES))))
# STYLE 2.3: an upward call goes through a function pointer, so one pass in
# layer order is enough for the linker.

all: $(B)/strata $(B)/strata-agent

$(B)/obj/%.o: src/%.c VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@
$(foreach m,$(MODULES),$(eval $(call archive,$(m)): $(call objects,$(m)) ; @rm -f $$@ && $(AR) rcs $$@ $$^))

$(B)/strata: $(call objects,cli) $(LIB_ARCHIVES)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/strata-agent: $(call objects,agent) $(LIB_ARCHIVES)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all
