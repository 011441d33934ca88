#!/bin/sh
# install.sh [PREFIX]: installs Steelyard into PREFIX/lib/steelyard, and the program as PREFIX/bin/steelyard. The
# default is /usr/local for root, and ~/.local for others. Replaces an earlier installation there.
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" -eq 0 ]; then prefix=${1:-/usr/local}; else prefix=${1:-$HOME/.local}; fi

"$here/steelyard/bin/steelyard" --version ||
  fail "the program does not run here: it needs Linux on x86-64 with glibc 2.34 or newer, libstdc++6 and /proc"
mkdir -p "$prefix/bin" "$prefix/lib" || fail "give a directory that you may write to: install.sh PREFIX"
rm -rf "$prefix/lib/steelyard"
mkdir "$prefix/lib/steelyard"
cp -R "$here"/steelyard* "$here/LICENSE" "$here/README.md" "$prefix/lib/steelyard/"
ln -sf ../lib/steelyard/steelyard/bin/steelyard "$prefix/bin/steelyard"
cat <<END
installed: $prefix/bin/steelyard, with $prefix/lib/steelyard
  try it:        $prefix/bin/steelyard demo
  Python:        export PYTHONPATH=$prefix/lib/steelyard
  uninstall:     rm -r $prefix/bin/steelyard $prefix/lib/steelyard
END
