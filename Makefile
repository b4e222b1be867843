# engram. `make help` lists the targets; CONTRIBUTING.md tells how to work here.

BUILD  ?= build
PREFIX ?= /usr/local
LUADIR ?= $(PREFIX)/share/lua/5.1
LIBDIR ?= $(PREFIX)/lib/lua/5.1
BINDIR ?= $(PREFIX)/bin
LUAJIT ?= luajit
CFLAGS ?= -O2 -g
export BUILD LUAJIT

# -- compiler flags -----------------------------------------------------------

STD  := -std=c99              # no GNU dialect: other compilers build it too
WARN := -Wall -Wextra         # what every compiler agrees on
WARN += -Wpedantic            # an extension is never used by accident
WARN += -Wconversion          # a count that is cut silently is a lost save
WARN += -Wshadow              # two things of one name are soon confused
WARN += -Wstrict-prototypes   # f() would accept any arguments
WARN += -Wmissing-prototypes  # a function is declared in a header or static
WARN += -Wundef               # a misspelt feature macro is not just 0
WARN += -Wvla                 # no stack use that depends on input
WARN += -Wcast-align          # input has any alignment; casts would trap
WARN += -Wwrite-strings       # literals are const
WARN += $(if $(CI),-Werror)   # in CI only: a new compiler must not stop a user

# Only what the headers mark with EG_API is visible in the shared object.
CPPFLAGS += -Icsrc
BASE      = $(STD) $(WARN) -fPIC -fvisibility=hidden -MMD -MP $(CPPFLAGS)
LUA_INC  := $(if $(LUA_INCDIR),-I$(LUA_INCDIR),$(shell \
              pkg-config --cflags luajit 2>/dev/null))

# -- variants: where objects go and what they are compiled with ---------------

ASAN  := -O1 -g -DEG_TEST -fsanitize=address,undefined \
         -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CLANG ?= clang

FLAGS_release = $(CFLAGS)
FLAGS_test    = -O1 -g -DEG_TEST
FLAGS_asan    = $(ASAN)
FLAGS_replay  = $(ASAN) -DEG_FUZZING
FLAGS_cov     = -O0 -g --coverage
FLAGS_fuzz    = $(ASAN) -DEG_FUZZING -fsanitize=fuzzer-no-link
CC_fuzz       = $(CLANG)

CORE_SRC := $(wildcard csrc/core/*.c csrc/core/*/*.c)
LUA_SRC  := $(wildcard csrc/lua/*.c)
TEST_SRC := $(wildcard tests/c/t_*.c)
TEST_LIB := $(filter-out $(TEST_SRC),$(wildcard tests/c/*.c))
FUZZ_LIB := $(filter-out fuzz/fz_%,$(wildcard fuzz/*.c)) \
            $(wildcard fuzz/fz_input.c tests/c/ops_*.c)
FUZZ_SRC := $(filter-out fuzz/fz_main.c fuzz/fz_input.c,$(wildcard fuzz/fz_*.c))
BENCH_SO := $(patsubst bench/%.c,$(BUILD)/bench/%.so,$(wildcard bench/*.c))

Q   = $(if $(V),,@)# make V=1 shows the commands
obj = $(patsubst %.c,$(BUILD)/obj/$(1)/%.o,$(2))
CC_OF = $(or $(CC_$(1)),$(CC))

define VARIANT
$(BUILD)/obj/$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	@echo 'cc    $$@'
	$$(Q)$$(call CC_OF,$(1)) $$(BASE) $$(FLAGS_$(1)) $$(EXTRA) -c -o $$@ $$<
$(BUILD)/obj/$(1)/csrc/lua/%.o: EXTRA = $(LUA_INC)
endef
$(foreach v,release test asan replay cov fuzz,$(eval $(call VARIANT,$(v))))

# Snapshots are copying loops, which -O3 vectorizes; elsewhere it gains nothing.
$(BUILD)/obj/release/csrc/core/snap/%.o: EXTRA = -O3

# Not linked against libluajit: the host brings the VM. nodelete keeps the code
# mapped after the state closes, so that sanitizer reports have names.
SHARED = $(CC) -shared $(LDFLAGS) -o $@ $(filter %.o,$^) -lm

$(BUILD)/engram/core.so: $(call obj,release,$(CORE_SRC) $(LUA_SRC))
	@mkdir -p $(@D)
	@echo 'link  $@'
	$(Q)$(SHARED)
$(BUILD)/asan/engram/core.so: $(call obj,asan,$(CORE_SRC) $(LUA_SRC))
	@mkdir -p $(@D)
	@echo 'link  $@'
	$(Q)$(SHARED) $(ASAN) -Wl,-z,nodelete
$(BUILD)/cov/engram/core.so: $(call obj,cov,$(CORE_SRC) $(LUA_SRC))
	@mkdir -p $(@D)
	@echo 'link  $@'
	$(Q)$(SHARED) --coverage
$(BUILD)/bench/%.so: bench/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(STD) -O2 -fPIC -shared -Icsrc -o $@ $<

# C tests and fuzz targets link the core's objects, hidden functions included.
define CPROGRAM
$(BUILD)/$(1)/%: $(BUILD)/obj/$(2)/$(3)/%.o $(call obj,$(2),$(4) $(CORE_SRC))
	@mkdir -p $$(@D)
	@echo 'link  $$@'
	$$(Q)$$(call CC_OF,$(2)) $$(FLAGS_$(2)) $$(LDFLAGS) -o $$@ $$^ -lm $(5)
endef
$(eval $(call CPROGRAM,tests/test,test,tests/c,$(TEST_LIB),-lcmocka))
$(eval $(call CPROGRAM,tests/asan,asan,tests/c,$(TEST_LIB),-lcmocka))
$(eval $(call CPROGRAM,tests/cov,cov,tests/c,$(TEST_LIB),-lcmocka))
$(eval $(call CPROGRAM,fuzz/replay,replay,fuzz,fuzz/fz_main.c $(FUZZ_LIB)))
$(eval $(call CPROGRAM,fuzz/fuzz,fuzz,fuzz,$(FUZZ_LIB),-fsanitize=fuzzer))

ctests  = $(patsubst tests/c/%.c,$(BUILD)/tests/$(1)/%,$(TEST_SRC))
replays = $(patsubst fuzz/%.c,$(BUILD)/fuzz/replay/%,$(FUZZ_SRC))

.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# -- everyday targets ---------------------------------------------------------

.DEFAULT_GOAL := help
SUBMAKE = $(MAKE) --no-print-directory

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' \
	  Makefile

all: $(BUILD)/engram/core.so ## build the module into $(BUILD)/engram/core.so

deps: ## install what building, testing and checking need (apt-get)
	@tools/install_deps.sh check

demo: ## install what is missing, build, and run the main job
	@tools/install_deps.sh build
	@$(SUBMAKE) all
	@$(RUN) $(LUAJIT) examples/colony/main.lua

# -- steps: each is counted, and one without a count has failed ---------------

HERE  = $(if $(filter /%,$(BUILD)),,./)$(BUILD)
RUN   = env LUA_PATH='./lua/?.lua;./lua/?/init.lua;;' \
        LUA_CPATH='$(HERE)/?.so;;'
TALLY = $(BUILD)/tally
STEP  = tools/step.sh $(TALLY) $@
SPEC  = $(shell command -v busted || echo busted) --ignore-lua
CORE_SPECS = $(wildcard spec/unit spec/property)

# Property specs do this many operations in the slow modes.
OPS_SLOW ?= 20000
OPS_GC   ?= 2000

TEST_STEPS  = test-jit test-joff test-hotloop test-gc test-c test-lua \
              test-install
CHECK_STEPS = lint asan-spec asan-c fuzz-replay docs

# $(call steps,NAMES) runs them all, also after a failure, and adds them up.
steps = rm -f $(addprefix $(TALLY)/,$(1)); $(SUBMAKE) -k $(1); \
        tools/tally.sh $(TALLY) $(1)

test: ## install what is missing, build, run all tests
	@tools/install_deps.sh test
	@$(call steps,$(TEST_STEPS))

check: ## test + lint + sanitizers + fuzz-replay + docs
	@tools/install_deps.sh check
	@$(call steps,$(TEST_STEPS) $(CHECK_STEPS))

check-rest: ## what `make check` does beyond `make test`
	@tools/install_deps.sh check
	@$(call steps,$(CHECK_STEPS))

list-steps: # for .ci/run
	@echo $(TEST_STEPS) $(CHECK_STEPS)

test-jit: all ## every spec, JIT on
	@$(STEP) $(RUN) $(LUAJIT) $(SPEC) spec
test-joff: all ## unit and property specs in the interpreter
	@$(STEP) $(RUN) EG_OPS=$(OPS_SLOW) $(LUAJIT) -joff $(SPEC) $(CORE_SPECS)
test-hotloop: all ## the same, every loop compiled at once
	@$(STEP) $(RUN) EG_OPS=$(OPS_SLOW) $(LUAJIT) -Ohotloop=1 $(SPEC) \
	  $(CORE_SPECS)
test-gc: all ## the same, the collector always at work
	@$(STEP) $(RUN) EG_OPS=$(OPS_GC) EG_GC=stress $(LUAJIT) $(SPEC) \
	  $(CORE_SPECS)
test-c: $(call ctests,test) ## C tests of the core
	@$(STEP) tools/run_tests.sh c $^
test-lua: all ## scripts for plain luajit
	@$(STEP) $(RUN) tools/run_tests.sh lua $(sort $(wildcard tests/lua/*.lua))
test-install: ## luarocks and make install, used from elsewhere
	@$(STEP) tools/run_tests.sh sh tests/lua/install_smoke.sh

lint: ## style, layers, bans, generated files
	@$(STEP) tools/lint.sh

asan: asan-spec asan-c ## specs and C tests under ASan and UBSan
SAN_ENV = ASAN_OPTIONS=abort_on_error=0:detect_leaks=$(1) \
          UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
asan-spec: $(BUILD)/asan/engram/core.so
	@$(STEP) $(RUN) LUA_CPATH='$(HERE)/asan/?.so;;' \
	  BUILD='$(BUILD)/asan' EG_OPS=$(OPS_SLOW) $(call SAN_ENV,0) \
	  LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" \
	  $(LUAJIT) $(SPEC) $(CORE_SPECS) $(wildcard spec/corrupt spec/gc)
asan-c: $(call ctests,asan)
	@$(STEP) env $(call SAN_ENV,1) tools/run_tests.sh c $^

gc-stress: all ## unit, property and gc specs, collector at full stress
	@$(STEP) $(RUN) EG_OPS=$(OPS_GC) EG_GC=full $(LUAJIT) $(SPEC) \
	  $(CORE_SPECS) $(wildcard spec/gc)

fuzz-replay: $(replays) ## run the committed corpora without an engine
	@$(STEP) env $(call SAN_ENV,0) tools/run_tests.sh fuzz $^

T    ?= fz_load
SECS ?= 60
fuzz: $(BUILD)/fuzz/fuzz/$(T) ## libFuzzer: make fuzz T=fz_load SECS=60
	@mkdir -p $(BUILD)/fuzz/found/$(T) fuzz/corpus/$(T)
	$(call SAN_ENV,0) $< -max_total_time=$(SECS) -rss_limit_mb=2048 \
	  $(if $(wildcard fuzz/eg.dict),-dict=fuzz/eg.dict) \
	  -artifact_prefix=$(BUILD)/fuzz/found/ \
	  $(BUILD)/fuzz/found/$(T) fuzz/corpus/$(T)

bench: all $(BENCH_SO) ## benchmarks; ARGS are passed on
	$(RUN) $(LUAJIT) bench/run.lua $(ARGS)

docs: ## check the documents
	@$(STEP) $(LUAJIT) tools/check_docs.lua

coverage: $(BUILD)/cov/engram/core.so $(call ctests,cov) ## lines of C reached
	@find $(BUILD)/obj/cov -name '*.gcda' -delete
	@tools/run_tests.sh c $(call ctests,cov)
	@$(RUN) LUA_CPATH='$(HERE)/cov/?.so;;' EG_OPS=$(OPS_SLOW) \
	  $(LUAJIT) $(SPEC) $(CORE_SPECS)
	@tools/coverage.sh $(BUILD)/obj/cov

# -- sources, installing ------------------------------------------------------

cdef: ## write lua/engram/cdef.lua from the public headers
	$(LUAJIT) tools/gen_cdef.lua lua/engram/cdef.lua

format: ## lay out the .c files as .clang-format says
	clang-format -i $(CORE_SRC) $(LUA_SRC) $(wildcard tests/c/*.c fuzz/*.c)

install: all ## install under PREFIX (or LUADIR, LIBDIR, BINDIR)
	cd lua && for file in $$(find engram -name '*.lua'); do \
	  install -D -m 644 $$file '$(DESTDIR)$(LUADIR)'/$$file || exit 1; done
	install -D -m 755 $(BUILD)/engram/core.so \
	  '$(DESTDIR)$(LIBDIR)/engram/core.so'
	$(if $(wildcard bin/engram),install -D -m 755 bin/engram \
	  '$(DESTDIR)$(BINDIR)/engram')

uninstall: ## remove what install put there
	rm -rf '$(DESTDIR)$(LUADIR)/engram' '$(DESTDIR)$(LIBDIR)/engram' \
	  '$(DESTDIR)$(BINDIR)/engram'

dist: ## source archive of the last commit
	git archive --format=tar.gz --prefix=engram/ -o engram-src.tar.gz HEAD

clean: ## remove everything built
	rm -rf $(BUILD) engram-src.tar.gz

.PHONY: help all deps demo test check check-rest list-steps lint asan \
  asan-spec asan-c gc-stress fuzz-replay fuzz bench docs coverage cdef format \
  install uninstall dist clean $(TEST_STEPS)
