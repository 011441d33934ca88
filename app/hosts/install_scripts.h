// The shell scripts of `steelyard install`. They use what POSIX requires, and tar, gzip and ldd.
#pragma once

namespace steelyard {

// Here: packs the program $1 into $2/package.tar.gz; prints digest= and glibc=.
//
// A program in a wheel or tarball has all that it needs in its folder and in steelyard.libs beside. Any other
// is packed with the libraries that it has been linked with, but without those of glibc and of GPU drivers,
// which belong to the system; it looks for them in ../lib/steelyard (app/cli/CMakeLists.txt).
inline constexpr const char* pack_script = R"sh(
set -eu
program=$1 work=$2
own=$(dirname "$(dirname "$program")")
stage=$work/stage
mkdir "$stage"
if [ -d "$own/../steelyard.libs" ]; then
  cp -RL "$own" "$stage/steelyard"
  cp -RL "$own/../steelyard.libs" "$stage/steelyard.libs"
  find "$stage" -name __pycache__ -prune -exec rm -rf {} +
else
  mkdir -p "$stage/steelyard/bin" "$stage/steelyard/lib/steelyard" "$stage/steelyard/share"
  cp -L "$program" "$stage/steelyard/bin/steelyard"
  if [ -d "$own/share/steelyard" ]; then cp -RL "$own/share/steelyard" "$stage/steelyard/share/"; fi
  ldd "$program" >"$work/ldd"
  if grep 'not found' "$work/ldd" >&2; then exit 1; fi
  sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' "$work/ldd" | while read -r library; do
    case ${library##*/} in
      ld-linux*|libc.so*|libm.so*|libmvec.so*|libpthread.so*|libdl.so*|librt.so*|libresolv.so*) ;;
      libcuda.so*|libnvidia*) ;;
      *) cp -L "$library" "$stage/steelyard/lib/steelyard/" ;;
    esac
  done
fi
chmod -R u+w,a+rX "$stage"
tar -C "$stage" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/package.tar" .
echo "digest=$(sha256sum "$work/package.tar" | cut -c1-16)"
LC_ALL=C grep -aoh 'GLIBC_2\.[0-9]*' "$work/package.tar" >"$work/needs"
echo "glibc=$(sort -u -t. -k2,2n "$work/needs" | tail -n 1 | cut -d_ -f2)"
gzip -n1 "$work/package.tar"
)sh";

// On a host, before: prints what it is, and what is installed under the prefix $1.
inline constexpr const char* look_script = R"sh(
prefix=$1
if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
fi
echo "machine=$(uname -s) $(uname -m)"
echo "glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)"
for tool in tar gzip; do command -v $tool >/dev/null || echo "without=$tool"; done
mkdir -p "$prefix/lib" "$prefix/bin" || exit 74
prefix=$(cd "$prefix" && pwd)
echo "prefix=$prefix"
if ! [ -w "$prefix/lib" ] || ! [ -w "$prefix/bin" ]; then echo "closed=$prefix"; fi
link=$prefix/bin/steelyard
if [ -e "$link" ] && ! [ -L "$link" ]; then echo "other=$link"; fi
PATH=$PATH:$HOME/.local/bin
echo "found=$(command -v steelyard)"
if "$link" --version >/dev/null 2>&1; then echo "present=$(readlink "$link")"; fi
exit 0
)sh";

// On a host: installs the package $2 from standard input under the prefix $1. Prints the version of the copy.
inline constexpr const char* install_script = R"sh(
set -eu
prefix=$1 digest=$2
lib=$prefix/lib final=$prefix/lib/steelyard-$digest new=$prefix/lib/.steelyard-new-$$
trap 'rm -rf "$new" "$prefix/bin/.steelyard-$$"' EXIT
trap 'exit 1' HUP INT TERM PIPE
for left in "$lib"/.steelyard-new-*; do
  if [ -d "$left" ] && ! kill -0 "${left##*-}" 2>/dev/null; then rm -rf "$left"; fi
done
mkdir "$new"
tar -xzf - -C "$new"
program=$new/steelyard/bin/steelyard
missing=$(ldd "$program" 2>&1 | grep 'not found') || missing=
if [ -n "$missing" ]; then
  echo "the program does not find there: $missing" >&2
  exit 78
fi
"$program" --version
rm -rf "$final"
mv "$new" "$final"
ln -s "../lib/steelyard-$digest/steelyard/bin/steelyard" "$prefix/bin/.steelyard-$$"
mv -f "$prefix/bin/.steelyard-$$" "$prefix/bin/steelyard"
for former in "$lib"/steelyard-????????????????; do
  if [ "$former" = "$final" ] || ! [ -d "$former" ]; then continue; fi
  if ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q " $former/"; then continue; fi
  rm -rf "$former"
done
)sh";

}  // namespace steelyard
