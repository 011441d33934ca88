# The libraries of the wheel that are better built here than taken from Debian: Debian's libzmq needs Kerberos, NORM and
# PGM, its libzip and cpp-httplib need OpenSSL, and its oneDNN needs OpenCL. Steelyard uses none of these. The sources
# are Debian's, with its security fixes, and their checksums are in packaging/sources.sha256. Sourced by
# packaging/wheel.sh; leaves libraries and headers in $libraries.
libraries=$root/build/packaging/libraries

# The source packages of the system's own archive. Its lists go into a folder of our own, so that the configuration of
# the system stays as it is.
get_sources() {
  local apt=$libraries/apt file
  mkdir -p "$apt/parts" "$apt/lists/partial" || return
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ -f "$file" ]; then
      sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb /deb-src /' "$file" >"$apt/parts/${file##*/}" || return
    fi
  done
  local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts"
    -o "Dir::State::lists=$apt/lists" -o APT::Sandbox::User=)
  apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only \
    zeromq3=4.3.4-6 cpp-httplib=0.11.4+ds-1+deb12u1 libzip=1.7.3-1
}

# build_library FOLDER OPTION...
build_library() {
  local folder=$1
  shift
  { cmake -S "$folder" -B "$folder/build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX="$libraries" "$@" &&
    ninja -C "$folder/build" install; } >"$folder.log" 2>&1 || { cat "$folder.log"; false; }
}

# oneDNN calls OpenCL only for GPUs, which Steelyard never uses through it, but it does not start without the library.
# This one has the functions that oneDNN links, and none does anything: each returns an error, -1.
build_opencl() {
  local dnnl name
  dnnl=$(realpath "$(gcc -print-file-name=libdnnl.so.2)") || return
  nm -D --undefined-only "$dnnl" | sed -n 's/^ *U \(cl[A-Z][A-Za-z]*\)@\(OPENCL_[0-9.]*\)$/\2 \1/p' | sort >cl.txt
  [ -s cl.txt ] || { echo "$dnnl does not need OpenCL: remove build_opencl from packaging/libraries.sh" && return 1; }
  awk '{ print "int " $2 "(void) { return -1; }" }' cl.txt >cl.c
  awk '$1 != last { if (last) print "};"; print $1 " {"; last = $1 } { print "  " $2 ";" } END { print "};" }' \
    cl.txt >cl.map
  gcc -O1 -shared -fPIC -fno-builtin -o "$libraries/lib/libOpenCL.so.1" -Wl,-soname,libOpenCL.so.1 \
    -Wl,--version-script=cl.map cl.c
}

build_libraries() {
  rm -rf "$libraries" && mkdir -p "$libraries/source" "$libraries/lib" "$libraries/include" || return
  cd "$libraries/source" && get_sources || return
  sha256sum --check --quiet "$root/packaging/sources.sha256" || return
  local package
  for package in zeromq3 cpp-httplib libzip; do
    dpkg-source --no-check -x "$package"_*.dsc "$package" >/dev/null || return
  done
  build_library zeromq3 -DBUILD_SHARED=OFF -DBUILD_TESTS=OFF -DWITH_LIBSODIUM_STATIC=ON -DENABLE_WS=OFF \
    -DWITH_LIBBSD=OFF -DWITH_DOCS=OFF -DENABLE_CPACK=OFF &&
    build_library libzip -DBUILD_SHARED_LIBS=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
      -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF &&
    cp cpp-httplib/httplib.h "$libraries/include/" && build_opencl &&
    gcc -O2 -fPIC -Wall -c -o "$libraries/lib/arc4random.o" "$root/packaging/arc4random.c" && cd "$root" || return
  sha256sum "$root"/packaging/{libraries.sh,sources.sha256,arc4random.c} >"$libraries/built-by"
}

if ! sha256sum --check --quiet "$libraries/built-by" 2>/dev/null; then
  build_libraries || fail "the libraries of the wheel were not built (packaging/libraries.sh)"
fi
