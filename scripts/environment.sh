# Sourced by scripts/test and scripts/demo: finds or installs Python 3.11+, makes .venv, installs
# the project into it. Nothing is installed twice: a stamp holds the checksum of pyproject.toml.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }

python_is_fit() {
    "$1" - 2>/dev/null <<'PY'
import sys
import ensurepip, venv
sys.exit(sys.version_info < (3, 11))
PY
}

find_python() {
    local name
    for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3; do
        if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && python_is_fit "$name"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo "$@"; else
        say "This needs root: $*. Run it as root, then start this script again."
        return 1
    fi
}

# install_packages WHAT PACKAGE...: from Debian, or a sentence on what is missing.
install_packages() {
    local what="$1"
    shift
    if ! command -v apt-get >/dev/null 2>&1; then
        say "$what is needed. Install it, then start again."
        return 1
    fi
    say "Installing $what from the Debian packages..."
    as_root apt-get update -qq >&2 || return 1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# prepare_environment EXTRAS: leaves the interpreter's path in VENV_PYTHON.
prepare_environment() {
    local extras="$1" python stamp
    stamp="$extras $(cksum <pyproject.toml)"
    VENV_PYTHON="$PWD/.venv/bin/python"
    if [ -x "$VENV_PYTHON" ] && [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ]; then return 0; fi
    if ! python="$(find_python)"; then
        install_packages "Python 3.11 or newer with venv" python3 python3-venv ca-certificates || return 1
        python="$(find_python)" || { say "The Debian Python is older than 3.11."; return 1; }
    fi
    say "Preparing .venv with $("$python" --version)..."
    if [ "${extras#\[dev}" != "$extras" ] && ! command -v git >/dev/null 2>&1; then
        install_packages "git" git || return 1
    fi
    [ -x "$VENV_PYTHON" ] || "$python" -m venv .venv || return 1
    "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --editable ".$extras" >&2 || return 1
    printf '%s\n' "$stamp" >.venv/stamp
}
