# The library: build/lib/librdkafka.so.1, librdkafka.so, librdkafka.a and the
# pkg-config files for use without an installation.

LIB_DIR     := $(BUILD)/lib
PC_DIR      := $(LIB_DIR)/pkgconfig
INCLUDE_DIR := $(BUILD)/include/librdkafka
SONAME      := librdkafka.so.1
HEADERS     := include/rdkafka.h include/rdkafka_mock.h include/rdkafkacpp.h include/ottla.h \
	include/ottla_admin.h include/ottla_share.h include/ottla_adminpp.h include/ottla_adminpp_types.h \
	include/ottla_adminpp_convert.h include/ottla_adminpp_extended.h \
	include/ottla_adminpp_cluster.h include/ottla_adminpp_transactions.h \
	include/ottla_adminpp_groups.h include/ottla_sharepp.h

# The version in the pkg-config files: the librdkafka release whose API is implemented.
# tests/install checks that it equals RD_KAFKA_VERSION of the header.
API_VERSION := 2.16.0

PC_NAMES := rdkafka rdkafka-static rdkafka++ rdkafka++-static

RUST_LIB := $(TARGET_DIR)/release/librdkafka.a
EXPORTS  := packaging/rdkafka.map

# System libraries that the Rust standard library needs. The unwinder is not listed:
# C compilers add the right one, also with -static.
SYSTEM_LIBS := -lpthread -lm -ldl -lrt

SHARED_LDFLAGS := -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(EXPORTS) \
	-Wl,--gc-sections -Wl,--as-needed -Wl,--no-undefined -Wl,-Bsymbolic-functions \
	-Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id -Wl,--compress-debug-sections=zlib

.PHONY: lib FORCE
FORCE:

## lib: (default) build the libraries and pkg-config files in build/lib
lib: $(LIB_DIR)/librdkafka.so $(LIB_DIR)/librdkafka.a $(LIB_DIR)/librdkafka++.so $(LIB_DIR)/librdkafka++.a \
	$(addprefix $(PC_DIR)/,$(addsuffix .pc,$(PC_NAMES))) $(addprefix $(INCLUDE_DIR)/,$(notdir $(HEADERS)))

# Always runs cargo, which rebuilds only what has changed. The crate type is set here
# because link-time optimisation is only done when no rlib is built as well.
$(RUST_LIB): FORCE
	@$(CARGO) rustc -q --release -p ottla-capi --lib --crate-type staticlib

$(LIB_DIR)/$(SONAME): $(RUST_LIB) $(EXPORTS)
	@mkdir -p $(@D)
	$(CC) $(SHARED_LDFLAGS) $(LDFLAGS) -o $@ \
		-Wl,--whole-archive $(RUST_LIB) -Wl,--no-whole-archive $(SYSTEM_LIBS)

$(LIB_DIR)/librdkafka.so: $(LIB_DIR)/$(SONAME)
	@ln -sf $(SONAME) $@

# One object in which only rd_kafka_* is global, so that a program can link it
# next to another Rust static library without both defining the same symbols.
# Section groups are dissolved first: their signature symbols become local.
$(LIB_DIR)/librdkafka.a: $(RUST_LIB) packaging/static.ld
	@mkdir -p $(@D) $(BUILD)/obj
	$(LD) -r --force-group-allocation -T packaging/static.ld -o $(BUILD)/obj/rdkafka-all.o --whole-archive $(RUST_LIB)
	$(OBJCOPY) --compress-debug-sections --wildcard --keep-global-symbol='rd_kafka_*' $(BUILD)/obj/rdkafka-all.o $(BUILD)/obj/rdkafka.o
	@rm -f $@ $(BUILD)/obj/rdkafka-all.o
	@ar crsD $@ $(BUILD)/obj/rdkafka.o

# $(call pkgconfig,NAME,PREFIX,LIBDIR,INCLUDEDIR): generates a .pc file from its template.
pkgconfig = sed -e 's|@PREFIX@|$(2)|' -e 's|@LIBDIR@|$(3)|' -e 's|@INCLUDEDIR@|$(4)|' \
	-e 's|@VERSION@|$(API_VERSION)|' -e 's|@SYSTEM_LIBS@|$(SYSTEM_LIBS)|' packaging/$(1).pc.in

$(PC_DIR)/%.pc: packaging/%.pc.in mk/lib.mk
	@mkdir -p $(@D)
	@$(call pkgconfig,$*,$(abspath $(BUILD)),$${prefix}/lib,$${prefix}/include) > $@

# Links the headers to include them as <librdkafka/rdkafka.h>, as after an installation.
$(INCLUDE_DIR)/%.h: include/%.h
	@mkdir -p $(@D)
	@ln -sf ../../../include/$*.h $@
