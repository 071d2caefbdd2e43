# Ottla: build, install and test from one place. `make help` lists the targets.
#
# Cargo builds the Rust static library; the C compiler turns it into the shared
# library, so that a version script decides what it exports. The C++ compiler
# builds the C++ library, which links the C library.

.DEFAULT_GOAL := lib
SHELL := /bin/sh
.DELETE_ON_ERROR:

CC      ?= cc
CARGO   ?= cargo
PYTHON  ?= python3
LD      ?= ld
OBJCOPY ?= objcopy
INSTALL ?= install
CFLAGS  ?= -O2 -g
CXXFLAGS ?= -O2 -g

BUILD      := build
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

include mk/lib.mk
include mk/cpp.mk
include mk/install.mk
include mk/examples.mk
include mk/test.mk

.PHONY: clean distclean help deps

## deps: install the system packages that the tests use (apt-get), or list the missing ones
deps:
	@sh scripts/setup.sh

## clean: remove the folder build (cargo's target folder remains: cargo clean)
clean:
	rm -rf $(BUILD)

## distclean: clean, and remove fetched files (Kafka, reference wheel) and cargo's target folder
distclean: clean
	rm -rf .cache $(TARGET_DIR)

## help: print this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  make %-12s %s\n", $$1, $$2}'
