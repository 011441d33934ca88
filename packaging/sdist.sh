# The source package, for `pip install` on a machine with a compiler and the packages of script/setup. Sourced by
# script/package.
. packaging/python.sh

rm -f "$packages/steelyard-$version.tar.gz"
"$builder/bin/python" -m build --sdist --no-isolation --outdir "$packages" . >"$work/sdist.log" 2>&1 ||
  { cat "$work/sdist.log"; fail "the source package was not built"; }
