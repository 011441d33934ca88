# What the scripts share; sourced, not run. Sets `root` and goes there.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() { printf '== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "script/$(basename "$0")" "$*" >&2
  exit 1
}

# A command line that makes no sense: what would.
usage() {
  printf 'usage: %s\n' "$*" >&2
  exit 2
}

# step NAME COMMAND...: says what is done and how long it took; ends the script if it fails.
step() {
  local name=$1 begin=$SECONDS
  shift
  say "$name"
  "$@" || fail "$name: failed after $((SECONDS - begin)) s"
  printf '   %s: %d s\n' "$name" $((SECONDS - begin))
}
