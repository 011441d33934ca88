# Sourced by script/package: an OCI image with the program of the Debian package, the libraries that it loads and the
# examples, without a shell and a package manager. `podman load` and `skopeo copy` take the archive.
#
# The libraries come from Debian's archive, not from this machine, so the image has the newest security updates.
[ "$(id -u)" -eq 0 ] || fail "the image is built in a root of its own: run this as root"
script/setup --packages || exit
deb=$packages/steelyard_${version}_$(dpkg --print-architecture).deb
[ -f "$deb" ] || build_package deb || exit
. /etc/os-release

rm -rf "$work/deb" "$work/system" "$work/image" && mkdir -p "$work/deb" "$work/image" || exit
cp "$deb" "$work/deb" || exit
(cd "$work/deb" && dpkg-scanpackages -m . >Packages) 2>"$work/log" || { cat "$work/log" >&2 && exit 1; }
# Extracts the package and all that it depends on; configures nothing.
mmdebstrap --quiet --variant=extract --include=steelyard "$VERSION_CODENAME" "$work/system" \
  --setup-hook="echo 'deb [trusted=yes] copy:$work/deb ./' >\"\$1\"/etc/apt/sources.list.d/steelyard.list" || exit

# Copies the program, the files that it needs, and all licences; files in place of links.
loader=lib64/ld-linux-x86-64.so.2
mapfile -t libraries < <(chroot "$work/system" "/$loader" --list /usr/bin/steelyard | grep -o '/[^ ]*' | cut -c 2-)
[ ${#libraries[@]} -gt 0 ] || fail "the loader lists no libraries of $work/system/usr/bin/steelyard"
(cd "$work/system" && cp -aL --parents usr/bin/steelyard usr/share/steelyard usr/share/doc/*/copyright "${libraries[@]}" \
  "$work/image") || exit

# A user without a name on most machines; jobs put their runs below the working directory.
user=10001 home=var/lib/steelyard
mkdir -p "$work/image/etc" "$work/image/$home" "$work/image/proc" && mkdir -m 1777 "$work/image/tmp" || exit
echo "steelyard:x:$user:$user::/$home:/usr/sbin/nologin" >"$work/image/etc/passwd"
echo "steelyard:x:$user:" >"$work/image/etc/group"
echo "hosts: files dns" >"$work/image/etc/nsswitch.conf"
chown "$user:$user" "$work/image/$home" || exit

build() { buildah --root "$work/storage" --runroot "$work/storage-run" --storage-driver vfs "$@"; }
archive=$packages/steelyard-$version-image.tar
time=$(stat -c %Y "$deb")
rm -f "$archive"
container=$(build from scratch) && place=$(build mount "$container") && cp -a "$work/image/." "$place" &&
  build umount "$container" >"$work/log" &&
  build config --entrypoint '["/usr/bin/steelyard"]' --cmd '--help' --user "$user:$user" --workingdir "/$home" \
    --label org.opencontainers.image.title=steelyard --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container" &&
  build commit --quiet --timestamp "$time" "$container" "steelyard:$version" >"$work/log" &&
  build push --quiet "steelyard:$version" "oci-archive:$archive:steelyard:$version" || exit
build rm "$container" >"$work/log" && build rmi "steelyard:$version" >"$work/log" || exit
printf '   image: %d MB, %d MB unpacked\n' $(($(stat -c %s "$archive") / 1000000)) \
  $(($(du -sb "$work/image" | cut -f 1) / 1000000))
