# SPDX-License-Identifier: MIT
#
# Builds the tests that mutations are run against, in a copy of the tree:
#
#	make -f scripts/check/mutations/host.mk bin/TEST...
#
# Called by scripts/check/mutate.py.  All names are relative, so that ccache shares objects
# between copies of the tree.

CC	?= gcc
FLAGS	:= -O1 -std=gnu11 -D_GNU_SOURCE -MMD -MP
UAPI	:= kernel/src/include/uapi
UNWIND	:= kernel/src/kernel/unwind
LIB	:= libcodectl
LIB_INC	:= -I$(LIB)/src/shim -I$(UNWIND) -I$(LIB)/include -I$(UAPI)

SOURCES	:= $(basename $(notdir $(wildcard $(LIB)/src/*.c)))
HELPERS	:= obj/tests/test.o obj/tests/stand_in.o

all:
	@echo "host.mk: say which of bin/" >&2; exit 1

# --- libcodectl

obj/lib/%.o: $(LIB)/src/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(LIB_INC) -c -o $@ $<

obj/order/%.o: $(LIB)/src/%.c $(LIB)/tests/order.h
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(LIB_INC) -include $(LIB)/tests/order.h -c -o $@ $<

obj/tests/%.o: $(LIB)/tests/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(LIB_INC) -c -o $@ $<

bin/name_%_test: obj/tests/name_%_test.o obj/tests/tracer.o $(HELPERS) $(SOURCES:%=obj/lib/%.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lpthread

# These include lookup.c.
bin/order_test bin/granule_order_test bin/name_order_test: bin/%: obj/tests/%.o $(HELPERS) \
		$(patsubst %,obj/order/%.o,$(filter-out lookup,$(SOURCES)))
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lpthread

# --- codectl(1)

LIBRARIES := libtracefs libtraceevent libdw libelf jansson zlib
TOOLS	:= parse_test join_test code_names_test frames_test plain_test symbol_test profile_test recording_test \
	   report_test report_formats_test flamegraph_test stacks_test wait_test blocked_test locks_test \
	   perf_data_test cpu_samples_test child_test perf_child_test screen_test
TESTED	:= answer blocked resumed join mapping perf_map proc_line tool trace_record code_names debuginfod elf_names \
	   elf_scopes elf_symbols frames holder lock_name looker owner perf_file plain reader sandbox stacks symbol wait_kind \
	   child cpu_samples interrupt kernel_names kernel_stacks perf_child perf_data perf_stream perf_tasks process \
	   record_outputs screen
REPORTS	:= $(filter-out report,$(basename $(notdir $(wildcard tools/report/*.c))))
INCLUDES := -Itools -Itools/report -Iobj/report -I$(UAPI)

# Their names have lines, and functions that are inlined.
obj/tools/symbol_test.o obj/tools/cpu_samples_test.o: FLAGS += -g

$(TOOLS:%=obj/tools/%.o): obj/tools/%.o: tools/tests/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -DVERSION='"0"' $(INCLUDES) \
		`pkg-config --cflags $(LIBRARIES)` -c -o $@ $<

obj/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -DVERSION='"0"' $(INCLUDES) \
		`pkg-config --cflags $(LIBRARIES)` -c -o $@ $<

obj/report/%.o: tools/report/%.c obj/report/flamegraph.js.h
	$(CC) $(FLAGS) -DVERSION='"0"' $(INCLUDES) -c -o $@ $<

obj/report/flamegraph.js.h: tools/report/flamegraph.js
	@mkdir -p $(@D)
	sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< > $@

$(TOOLS:%=bin/%): bin/%: obj/tools/%.o $(TESTED:%=obj/tools/%.o) $(REPORTS:%=obj/report/%.o)
	@mkdir -p $(@D)
	$(CC) -Wl,--build-id -o $@ $^ `pkg-config --libs $(LIBRARIES)` -liberty

# Includes the other sources of names.
bin/symbols_test: $(addprefix obj/tools/,symbols_test.o answer.o debuginfod.o looker.o owner.o perf_file.o \
		plain.o process.o sandbox.o tool.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^

# Includes what it tests.
bin/looker_test: obj/tools/looker_test.o obj/tools/tool.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^

obj/tools/symbols_test.o obj/tools/looker_test.o: obj/tools/%.o: tools/tests/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -DVERSION='"0"' $(INCLUDES) -c -o $@ $<

# Tables; SFRAME is where binutils is installed, with libsframe.
TABLES	:= convert expression frames image known object padding prune report store table \
	   table_file table_load work
CFI	:= obj/sframe/cfi.so obj/sframe/cfi-debug.so
CONVERT	= $(CC) $(FLAGS) -DVERSION='"0"' -DCFI_OBJECT='"obj/sframe/cfi.so"' \
	-DDEBUG_OBJECT='"obj/sframe/cfi-debug.so"' -Itools -I$(UAPI) -isystem $(SFRAME)/include

obj/attach/%.o: tools/attach/%.c
	@mkdir -p $(@D)
	$(CONVERT) -c -o $@ $<

obj/sframe/%.o: tools/sframe/%.c
	@mkdir -p $(@D)
	$(CONVERT) -c -o $@ $<

CONVERTER_TESTS := sframe_test sframe_store_test sframe_hostile_test attach_tables_test sframe_attach_test
ATTACH	:= converter files follow keep keepers ready stale
INCLUDING := follow_test keep_test keepers_test ready_test

$(patsubst %,obj/sframe/%.o,$(CONVERTER_TESTS) $(INCLUDING) files_test): obj/sframe/%.o: tools/tests/%.c
	@mkdir -p $(@D)
	$(CONVERT) -c -o $@ $<

$(CFI): tools/tests/cfi.S
	@mkdir -p $(@D)
	$(CC) $(if $(findstring debug,$@),-DDEBUG_FRAME -Wl$(comma)--compress-debug-sections=zlib) \
		-shared -nostdlib -Wl,--build-id -o $@ $<

comma	:= ,

bin/sframe_hostile_test: $(filter-out %/frames.o %/object.o,obj/sframe/sframe_hostile_test.o \
		$(TABLES:%=obj/sframe/%.o) obj/attach/converter.o obj/tools/process.o obj/tools/sandbox.o \
		obj/tools/tool.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(SFRAME)/lib/libsframe.a -ldw -lelf -lcrypto

# Each includes what it needs of the other sources of attach.
bin/attach_tables_test bin/sframe_attach_test: $(ATTACH:%=obj/attach/%.o) obj/tools/child.o obj/tools/looker.o \
		obj/tools/owner.o

bin/files_test: obj/attach/files.o
bin/ready_test: obj/attach/ready.o

$(patsubst %,bin/%,$(INCLUDING) files_test): bin/%: obj/sframe/%.o obj/tools/tool.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^

$(filter-out %_hostile_test,$(CONVERTER_TESTS:%=bin/%)): bin/%: obj/sframe/%.o $(TABLES:%=obj/sframe/%.o) obj/tools/process.o obj/tools/sandbox.o \
		obj/tools/tool.o $(CFI)
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o,$^) $(SFRAME)/lib/libsframe.a -ldw -lelf -lcrypto

# --- the readers of the kernel

bin/sframe_kunit bin/sframe_bounds_kunit bin/jit_kunit bin/granules_kunit bin/resident_kunit bin/jit_order bin/granules_order: bin/%: FORCE
	@mkdir -p $(@D)
	@$(MAKE) -s --no-print-directory -C rig/host CFLAGS=-O1 WARN=-w \
		O=../../obj/host ../../obj/host/kunit/$*
	@ln -sf ../obj/host/kunit/$* $@

# --- the rest of libcodectl's

bin/%_test: obj/tests/%_test.o $(HELPERS) $(SOURCES:%=obj/lib/%.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lpthread

FORCE:

-include $(wildcard obj/*/*.d)

.PHONY: all FORCE
.SECONDARY:
.DELETE_ON_ERROR:
