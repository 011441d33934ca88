# The wheel for all Pythons of Linux x86-64 with glibc 2.34 or newer (Debian 12, Ubuntu 22.04, RHEL 9). It contains
# every library that manylinux does not promise, so nothing must be installed beside it. Sourced by script/package.
script/setup --packages || exit
. packaging/python.sh
. packaging/libraries.sh

platform=manylinux_2_34_$(uname -m)

# static NAME: a static library of the system.
static() { realpath "$(gcc -print-file-name="$1")"; }

# The licences of all that the wheel contains, from Debian's packages, one file each.
copy_licences() {
  local package
  rm -rf "$1" && mkdir -p "$1" || return
  for package in libdnnl2 libgomp1 libtbb12 libtomlplusplus-dev libxxhash-dev libsodium-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev \
    gcc-12-base libeigen3-dev libcli11-dev libcereal-dev nlohmann-json3-dev cppzmq-dev libjs-dygraphs; do
    cp "/usr/share/doc/$package/copyright" "$1/$package.txt" || return
  done
  for package in zeromq3 cpp-httplib libzip; do
    cp "$libraries/source/$package/debian/copyright" "$1/$package.txt" || return
  done
}

# Libraries that Debian has only as shared ones stay shared: oneDNN and TBB; so does OpenMP, which oneDNN needs.
# libstdc++ is linked statically, because that of gcc 12 is newer than manylinux_2_34 allows.
build_wheel() {
  local link="-static-libstdc++ -Wl,--gc-sections $libraries/lib/arc4random.o"
  local options=(
    "ZeroMQ_LIBRARY=$libraries/lib/libzmq.a;$(static libsodium.a)"
    "Libzip_INCLUDE_DIR=$libraries/include" "Libzip_LIBRARY=$libraries/lib/libzip.a;$(static libz.a)"
    "Httplib_INCLUDE_DIR=$libraries/include" Httplib_LIBRARY=OFF Tomlplusplus_LIBRARY=OFF
    "CMAKE_EXE_LINKER_FLAGS=$link" "CMAKE_SHARED_LINKER_FLAGS=$link"
    "CMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections"  # for --gc-sections
    "PNG_LIBRARY=$(static libpng16.a)" "JPEG_LIBRARY=$(static libjpeg.a)"
    "ZLIB_LIBRARY=$(static libz.a)" "XxHash_LIBRARY=$(static libxxhash.a)" "STEELYARD_LICENCES=$work/licences"
  )
  # A build directory beside that of script/build, so that ccache has most objects.
  CCACHE_BASEDIR=$root CCACHE_SLOPPINESS=pch_defines,time_macros \
    "$builder/bin/pip" --disable-pip-version-check wheel --no-build-isolation --no-deps --wheel-dir "$work" . \
    "--config-settings=build-dir=$root/build/wheel-package" "${options[@]/#/--config-settings=cmake.define.}" \
    >"$work/wheel.log" 2>&1
}

rm -f "$work"/*.whl "$packages"/steelyard-*.whl
copy_licences "$work/licences" || fail "licences are missing: packaging/wheel.sh needs the packages of script/setup"
build_wheel || { cat "$work/wheel.log"; fail "the wheel was not built"; }
PATH=$builder/bin:$PATH LD_LIBRARY_PATH=$libraries/lib auditwheel repair --plat "$platform" --only-plat -z 9 \
  --wheel-dir "$packages" "$work"/steelyard-*.whl >"$work/repair.log" 2>&1 ||
  { cat "$work/repair.log"; fail "the wheel needs more than $platform promises"; }
