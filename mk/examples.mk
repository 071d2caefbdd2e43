# The C examples, each linked to build/lib and able to run where they stand.

BIN_DIR      := $(BUILD)/bin
EXAMPLE_SRCS := $(wildcard examples/c/*.c)
EXAMPLES     := $(patsubst examples/c/%.c,$(BIN_DIR)/%,$(EXAMPLE_SRCS))

EXAMPLE_CFLAGS := -std=gnu11 -Wall -Wextra -Iinclude
EXAMPLE_LIBS   := -L$(LIB_DIR) -lrdkafka -lpthread -lm -Wl,-rpath,'$$ORIGIN/../lib'

.PHONY: demo examples

## demo: build the library and run 1,000,000 messages through the embedded cluster
demo: lib $(BIN_DIR)/demo
	@$(BIN_DIR)/demo

## examples: build examples/c/*.c into build/bin
examples: lib $(EXAMPLES)

# The library is an order-only prerequisite: a program needs relinking only when
# the headers change.
$(BIN_DIR)/%: examples/c/%.c $(wildcard examples/c/*.h) $(HEADERS) | $(LIB_DIR)/librdkafka.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EXAMPLE_CFLAGS) -o $@ $< $(EXAMPLE_LIBS)
