# The content of the wheel for machines without pip, with packaging/install.sh. Sourced by script/package.
if [[ " ${kinds[*]} " != *" wheel "* ]]; then build_package wheel || exit; fi
. packaging/python.sh

name=steelyard-$version-linux-$(uname -m)
rm -rf "${work:?}/$name" "$packages"/steelyard-*-linux-*.tar.gz
"$builder/bin/pip" --quiet --disable-pip-version-check install --no-index --no-deps --no-compile \
  --target "$work/$name" "$packages"/steelyard-"$version"-*.whl || fail "the wheel cannot be unpacked"
rm -rf "$work/$name/bin"  # pip's script, for this Python
cp packaging/install.sh LICENSE README.md "$work/$name/"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
  -czf "$packages/$name.tar.gz" "$name" || fail "the archive was not written"
