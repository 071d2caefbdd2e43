# The C++ library: build/lib/librdkafka++.so.1, librdkafka++.so and librdkafka++.a.
# It is C++11 over the C interface and links the C library like any program.

CPP_SONAME  := librdkafka++.so.1
CPP_EXPORTS := packaging/rdkafka++.map
CPP_HEADERS := $(wildcard cpp/*.h) include/rdkafka.h include/rdkafkacpp.h
CPP_OBJECTS := $(patsubst cpp/%.cpp,$(BUILD)/obj/cpp/%.o,$(wildcard cpp/*.cpp))

CPP_CXXFLAGS := -std=c++11 -fPIC -Wall -Wextra -Iinclude
CPP_LDFLAGS  := -shared -Wl,-soname,$(CPP_SONAME) -Wl,--version-script=$(CPP_EXPORTS) \
	-Wl,--gc-sections -Wl,--as-needed -Wl,--no-undefined -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id

$(BUILD)/obj/cpp/%.o: cpp/%.cpp $(CPP_HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(CPP_CXXFLAGS) -c -o $@ $<

# The C library is an order-only prerequisite: only its interface counts.
$(LIB_DIR)/$(CPP_SONAME): $(CPP_OBJECTS) $(CPP_EXPORTS) | $(LIB_DIR)/librdkafka.so
	$(CXX) $(CPP_LDFLAGS) $(LDFLAGS) -o $@ $(CPP_OBJECTS) -L$(LIB_DIR) -lrdkafka

$(LIB_DIR)/librdkafka++.so: $(LIB_DIR)/$(CPP_SONAME)
	@ln -sf $(CPP_SONAME) $@

$(LIB_DIR)/librdkafka++.a: $(CPP_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	@ar crsD $@ $(CPP_OBJECTS)
