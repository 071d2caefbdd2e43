# The examples in C and C++, linked to build/lib with a relative run path, so that they run without an installation.

BIN_DIR      := $(BUILD)/bin
EXAMPLE_SRCS := $(wildcard examples/c/*.c)
EXAMPLES     := $(patsubst examples/c/%.c,$(BIN_DIR)/%,$(EXAMPLE_SRCS))

PLUGIN_SRCS  := $(wildcard examples/c/plugins/*.c)
PLUGINS      := $(patsubst examples/c/plugins/%.c,$(BIN_DIR)/plugins/%.so,$(PLUGIN_SRCS))

CPP_EXAMPLE_SRCS := $(wildcard examples/cpp/*.cpp)
CPP_EXAMPLES     := $(patsubst examples/cpp/%.cpp,$(BIN_DIR)/cpp/%,$(CPP_EXAMPLE_SRCS))

EXAMPLE_CFLAGS := -std=gnu11 -Wall -Wextra -Iinclude
EXAMPLE_LIBS   := -L$(LIB_DIR) -lrdkafka -lpthread -lm -Wl,-rpath,'$$ORIGIN/../lib'

CPP_EXAMPLE_CXXFLAGS := -std=c++11 -Wall -Wextra -Iinclude
CPP_EXAMPLE_LIBS     := -L$(LIB_DIR) -lrdkafka++ -lrdkafka -lpthread -Wl,-rpath,'$$ORIGIN/../../lib'

.PHONY: demo examples

## demo: build the library and run 1,000,000 messages through the embedded cluster
demo: lib $(BIN_DIR)/demo
	@$(BIN_DIR)/demo

## examples: build examples/c/*.c into build/bin, plugins into build/bin/plugins, examples/cpp/*.cpp into build/bin/cpp
examples: lib $(EXAMPLES) $(PLUGINS) $(CPP_EXAMPLES)

# The library is an order-only prerequisite: a program is rebuilt only when its
# source or a header changes.
$(BIN_DIR)/%: examples/c/%.c $(wildcard examples/c/*.h) $(HEADERS) | $(LIB_DIR)/librdkafka.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EXAMPLE_CFLAGS) -o $@ $< $(EXAMPLE_LIBS)

# A plugin is not linked to the library: its symbols resolve to those of the loading program.
$(BIN_DIR)/plugins/%.so: examples/c/plugins/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EXAMPLE_CFLAGS) -shared -fPIC -o $@ $<

$(BIN_DIR)/cpp/%: examples/cpp/%.cpp $(HEADERS) | $(LIB_DIR)/librdkafka++.so
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(CPP_EXAMPLE_CXXFLAGS) -o $@ $< $(CPP_EXAMPLE_LIBS)
