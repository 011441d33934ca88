#!/usr/bin/env bash
# run.sh [PART...] [--until SECONDS] [--out DIR] [...]: checks and measures the CUDA backend on this machine's first GPU.
# Needs python3 and, from the CUDA toolkit or from PyTorch's packages, cuDNN 9, cuBLASLt 13 and nvrtc 13; no compiler and
# no network. `run.sh --help` lists the parts. script/gpu-check starts it in the sources, and script/gpu-kit packs it.
set -u
here=$(dirname "$(readlink -f "$0")")

command -v python3 >/dev/null || {
  echo "run.sh: python3 is missing: install it, or use a machine that has it" >&2
  exit 1
}

# Folders that may contain libraries of CUDA: the toolkit first (CUDA_HOME, if set), then the packages of Python.
candidates() {
  local toolkit
  for toolkit in ${CUDA_HOME:-/usr/local/cuda /usr/local/cuda-13*}; do
    printf '%s\n' "$toolkit"/{lib64,lib,targets/x86_64-linux/lib}
  done
  python3 -c 'import glob, sys
for place in sys.path:
    print("\n".join(sorted(glob.glob(glob.escape(place or ".") + "/nvidia/*/lib"))))' 2>/dev/null | grep .
}

# The loader finds a library without help in a folder of LD_LIBRARY_PATH or of its cache.
is_found() {
  local folder
  IFS=: read -ra given <<<"${LD_LIBRARY_PATH:-}"
  for folder in ${given[@]+"${given[@]}"}; do [ -e "$folder/$1" ] && return; done
  PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "[[:space:]]$1 "
}

# Appends, never replaces: the folder of the driver may be in it.
missing=()
for library in libcudnn.so.9 libcublasLt.so.13 libnvrtc.so.13; do is_found "$library" || missing+=("$library"); done
while [ ${#missing[@]} -gt 0 ] && read -r folder; do
  rest=()
  for library in "${missing[@]}"; do [ -e "$folder/$library" ] || rest+=("$library"); done
  if [ ${#rest[@]} -lt ${#missing[@]} ]; then
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    missing=(${rest[@]+"${rest[@]}"})
  fi
done < <(candidates)

case " $* " in
  *' host-cuda '* | *' --help '* | *' -h '*) ;; # need none
  *)
    if [ ${#missing[@]} -gt 0 ]; then
      echo "run.sh: missing: ${missing[*]}: not in CUDA's toolkit and not in python3's nvidia/*/lib" \
        "(PyTorch for CUDA 13 brings them; CUDA_HOME=... names another toolkit)" >&2
      exit 1
    fi
    nvidia-smi -L 2>/dev/null | grep -q GPU || {
      echo "run.sh: nvidia-smi shows no GPU: run this on a machine with an NVIDIA card and its driver" >&2
      exit 1
    }
    ;;
esac
exec python3 -B "$here/check.py" "$@"
