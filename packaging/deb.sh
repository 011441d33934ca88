# Sourced by script/package: the Debian packages steelyard, libsteelyard-dev and python3-steelyard, for the release of
# Debian that this machine runs. packaging/deb/files goes into steelyard as it is, packaging/deb/control/PACKAGE has the
# scripts of the packages.
script/setup --packages || exit
command -v dpkg-shlibdeps >/dev/null || fail "Debian packages can be built on Debian only"

# Times in the packages: of the commit, so that two builds of it give the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
# Beside the build directory of script/build, so that ccache has most objects.
export SOURCE_DATE_EPOCH STEELYARD_BUILD=$root/build/deb-package STEELYARD_VERSION=$version
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=$root

# The prefix is given now, not at the installation, because Debian's folder of libraries depends on it.
cmake --preset release -B "$STEELYARD_BUILD" -Wno-dev --log-level=NOTICE -DCMAKE_INSTALL_PREFIX=/usr \
  -DSTEELYARD_TESTS=OFF -DSTEELYARD_BENCH=OFF -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,relro,-z,now \
  -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,relro,-z,now || exit
ninja -C "$STEELYARD_BUILD" --quiet || exit
rm -rf "$work/out" && mkdir "$work/out" || exit
cpack --config packaging/deb/cpack.cmake -B "$work/out" >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log" >&2 && exit 1; }
lintian --allow-root --fail-on error "$work/out"/*.deb || exit
rm -f "$packages"/*.deb
mv "$work/out"/*.deb "$packages" || exit
