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
	$(INSTALL) -m 755 $(LIB_DIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/librdkafka.so
	$(INSTALL) -m 644 $(LIB_DIR)/librdkafka.a $(DESTDIR)$(LIBDIR)/librdkafka.a
	@for pc in rdkafka rdkafka-static; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCDIR)|' \
		    -e 's|@VERSION@|$(API_VERSION)|' -e 's|@SYSTEM_LIBS@|$(SYSTEM_LIBS)|' \
		    packaging/$$pc.pc.in > $(DESTDIR)$(PKGCONFDIR)/$$pc.pc || exit 1; \
		chmod 644 $(DESTDIR)$(PKGCONFDIR)/$$pc.pc; \
	done

## uninstall: remove what install put there (same PREFIX and DESTDIR)
uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/librdkafka.so $(DESTDIR)$(LIBDIR)/librdkafka.a
	rm -f $(DESTDIR)$(PKGCONFDIR)/rdkafka.pc $(DESTDIR)$(PKGCONFDIR)/rdkafka-static.pc
	rm -f $(addprefix $(DESTDIR)$(INCDIR)/librdkafka/,$(notdir $(HEADERS)))
	-rmdir $(DESTDIR)$(INCDIR)/librdkafka
