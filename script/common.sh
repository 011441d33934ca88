# Functions shared by the scripts; sourced, not run. Sets `root` to the root of the tree and changes to it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() { printf '== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "script/$(basename "$0")" "$*" >&2
  exit 1
}

# For an invalid command line: prints the valid ones.
usage() {
  printf 'usage: %s\n' "$*" >&2
  exit 2
}

# print_help: prints the comment at the beginning of the script, which is its help.
print_help() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "script/$(basename "$0")"; }

# step NAME COMMAND...: prints the step and its duration; exits the script if the command fails.
step() {
  local name=$1 begin=$SECONDS
  shift
  say "$name"
  "$@" || fail "$name: failed after $((SECONDS - begin)) s"
  printf '   %s: %d s\n' "$name" $((SECONDS - begin))
}
