# Installation into PREFIX, under DESTDIR where packagers stage files.

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCDIR     ?= $(PREFIX)/include
PKGCONFDIR ?= $(LIBDIR)/pkgconfig
DESTDIR    ?=

.PHONY: install uninstall

## install: install headers, libraries and pkg-config files (PREFIX=/usr/local, DESTDIR=)
install: lib
	$(INSTALL) -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PKGCONFDIR) $(DESTDIR)$(INCDIR)/librdkafka
	$(INSTALL) -m 644 $(HEADERS) $(DESTDIR)$(INCDIR)/librdkafka/
	$(INSTALL) -m 755 $(addprefix $(LIB_DIR)/,$(SONAME) $(CPP_SONAME)) $(DESTDIR)$(LIBDIR)/
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/librdkafka.so
	ln -sf $(CPP_SONAME) $(DESTDIR)$(LIBDIR)/librdkafka++.so
	$(INSTALL) -m 644 $(addprefix $(LIB_DIR)/,librdkafka.a librdkafka++.a) $(DESTDIR)$(LIBDIR)/
	@for pc in $(PC_NAMES); do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCDIR)|' \
		    -e 's|@VERSION@|$(API_VERSION)|' -e 's|@SYSTEM_LIBS@|$(SYSTEM_LIBS)|' \
		    packaging/$$pc.pc.in > $(DESTDIR)$(PKGCONFDIR)/$$pc.pc || exit 1; \
		chmod 644 $(DESTDIR)$(PKGCONFDIR)/$$pc.pc; \
	done

## uninstall: remove the installed files (same PREFIX and DESTDIR as install)
uninstall:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(SONAME) $(CPP_SONAME) librdkafka.so librdkafka++.so librdkafka.a librdkafka++.a)
	rm -f $(addprefix $(DESTDIR)$(PKGCONFDIR)/,$(addsuffix .pc,$(PC_NAMES)))
	rm -f $(addprefix $(DESTDIR)$(INCDIR)/librdkafka/,$(notdir $(HEADERS)))
	-rmdir $(DESTDIR)$(INCDIR)/librdkafka
