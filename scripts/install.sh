#!/usr/bin/env bash
# Installs armlabd as a service on this board, or brings an installed one up to this source tree.
# Run it again at any time: it does what is missing and keeps settings, keys and calibration.
# Usage: scripts/install.sh [SWITCH ...]            as root, from a clone or an unpacked release
#   --port PORT         servo adapter: auto (default), /dev/..., usb:SERIAL or usb-path:PLUG
#   --camera SOURCE     none (default), a V4L2 number, a device such as /dev/video0, or a URL
#   --button BOARD      stop button on this board's header: pi4, pi5 or orin; none (default)
#   --planner NAME      auto (default), rules, ollama or smolvlm
#   --lan               answer on the local network too, not on this board alone
#   --no-models         leave out what local models need (about 400 MB)
#   --wheelhouse DIR    take Python packages from DIR, without a network
#   --make-wheelhouse DIR   fill DIR on a board of the same kind that has a network, and end
#   --yes               ask nothing
#   --dry-run           say what would be done, and do nothing
#   --uninstall         take everything away; --keep-state leaves settings, keys and calibration
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

HOME_DIR=/opt/armlabd
CONFIG_DIR=/etc/armlabd
KEY_DIR=$CONFIG_DIR/credentials
STATE_DIR=/var/lib/armlabd
UNIT=/etc/systemd/system/armlabd.service
RULES=/etc/udev/rules.d/90-armlabd.rules
COMMAND=/usr/local/bin/armlabd
BUILD_TOOLS=(gcc pkg-config libsystemd-dev)
ACTIVE_S=30

port="" camera="" button="" planner="" lan="" wheelhouse="" models=yes
ask=yes dry="" mode=install keep_state=""

refuse() { say "$1"; exit "${2:-1}"; }

while [ $# -gt 0 ]; do
    case "$1" in
    --port | --camera | --button | --planner | --wheelhouse | --make-wheelhouse)
        [ $# -gt 1 ] || refuse "$1 needs a value. Try --help." 2
        case "$1" in
        --make-wheelhouse) mode=wheelhouse wheelhouse="$2" ;;
        *) printf -v "${1#--}" %s "$2" ;;
        esac
        shift
        ;;
    --lan) lan=yes ;;
    --no-models) models="" ;;
    --yes) ask="" ;;
    --dry-run) dry=yes ask="" ;;
    --uninstall) mode=uninstall ;;
    --keep-state) keep_state=yes ;;
    --help | -h) sed -n '2,16p' "$0" | cut -c3-; exit 0 ;;
    *) refuse "There is no switch $1. Try --help." 2 ;;
    esac
    shift
done
case "${button:-none}" in none | pi4 | pi5 | orin) ;; *) refuse "--button is none, pi4, pi5 or orin, not $button." 2 ;; esac
case "${planner:-auto}" in auto | rules | ollama | smolvlm) ;; *) refuse "--planner is auto, rules, ollama or smolvlm, not $planner." 2 ;; esac
[ -z "$wheelhouse" ] || [ "$mode" = wheelhouse ] || [ -d "$wheelhouse" ] || refuse "There is no folder $wheelhouse." 2
[ -t 0 ] || ask=""

# run COMMAND...: do it, or only say it.
run() { if [ -n "$dry" ]; then say "would: $*"; else "$@"; fi; }

# put TARGET MODE <text: replace a file whole, so that a cut leaves the old one or the new one.
put() {
    local target="$1" mode="$2"
    if [ -n "$dry" ]; then cat >/dev/null; say "would: write $target"; return 0; fi
    mkdir -p "$(dirname "$target")"
    (umask 077; cat >"$target.new")
    chmod "$mode" "$target.new"
    sync "$target.new"
    mv -f "$target.new" "$target"
}

systemd_runs() { [ -d /run/systemd/system ]; }

# --- Python packages -------------------------------------------------------------------------

extras() { if [ -n "$models" ]; then printf '[smolvlm]'; fi; }

pip_from() { if [ -n "$wheelhouse" ]; then printf '%s\n' --no-index --find-links "$wheelhouse"; fi; }

journal_wheel() { "$wheelhouse/.venv/bin/pip" wheel --quiet --wheel-dir "$wheelhouse" systemd-python; }

build_tools() { install_packages "what systemd-python is built with" "${BUILD_TOOLS[@]}" "$(headers "$1")"; }

make_wheelhouse() {
    local python
    python="$(find_python)" || refuse "Python 3.11 or newer is needed."
    mkdir -p "$wheelhouse"
    "$python" -m venv "$wheelhouse/.venv"
    "$wheelhouse/.venv/bin/pip" wheel --quiet --wheel-dir "$wheelhouse" ".$(extras)" setuptools wheel pip
    journal_wheel 2>/dev/null || { build_tools "$wheelhouse/.venv" && journal_wheel; } ||
        say "systemd-python was not built (it needs ${BUILD_TOOLS[*]} and python3-dev): the journal gets plain lines."
    rm -rf "$wheelhouse/.venv"
    say "$(find "$wheelhouse" -name '*.whl' | wc -l) packages lie in $wheelhouse."
}

# The environment is a folder of its own for each source tree and interpreter: an interrupted one
# lacks its mark and is made anew, a finished one is switched to by renaming one link.
source_sum() {
    find armlabd systemd scripts pyproject.toml -type f ! -name '*.pyc' -print0 |
        sort -z | xargs -0 cat | { cat; printf '%s' "$1 $models"; } | cksum | cut -d' ' -f1
}

build_environment() {
    local python new
    python="$(find_python)" || refuse "The packages of this system hold no Python 3.11 or newer. Install one, then start again."
    new="$HOME_DIR/env-$(source_sum "$("$python" --version)")"
    environment="$new"
    [ -e "$new/complete" ] && return 0
    say "Building $new with $("$python" --version)..."
    if [ -n "$dry" ]; then say "would: make $new and install armlabd$(extras) into it"; return 0; fi
    rm -rf "$new"
    mkdir -p "$HOME_DIR"
    "$python" -m venv "$new"
    mapfile -t from < <(pip_from) # where pip looks
    "$new/bin/python" -m pip install --quiet --disable-pip-version-check "${from[@]}" ".$(extras)"
    add_journal "$new"
    mkdir -p "$new/share/armlabd"
    cp README.md SAFETY.md ARCHITECTURE.md config.toml "$new/share/armlabd/"
    "$new/bin/armlabd" --version >/dev/null
    sync "$new"
    touch "$new/complete"
}

add_journal() {
    if [ -z "$wheelhouse" ]; then
        build_tools "$1" || true
    fi
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${from[@]}" systemd-python >&2 ||
        say "systemd-python could not be installed: the journal gets plain lines without fields."
}

headers() { printf 'python%s-dev' "$("$1/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"; }

switch_to() { ln -sfn "$1" "$HOME_DIR/current.new" && mv -fT "$HOME_DIR/current.new" "$HOME_DIR/current"; }

# --- the steps, in order; each does only what is missing ------------------------------------------

install_python() {
    if find_python >/dev/null; then return 0; fi
    if [ -n "$dry" ]; then say "would: install Python 3.11 or newer with venv"; return 0; fi
    install_packages "Python 3.11 or newer with venv" python3 python3-venv ca-certificates
    find_python >/dev/null || install_packages "a newer Python" python3.11 python3.11-venv ||
        refuse "This system's packages hold no Python 3.11. Install one, then start again."
}

make_user() {
    local group
    for group in dialout video gpio; do
        getent group "$group" >/dev/null || run groupadd --system "$group"
    done
    getent passwd armlabd >/dev/null ||
        run useradd --system --user-group --home-dir "$STATE_DIR" --no-create-home --shell /usr/sbin/nologin armlabd
    run usermod --append --groups dialout,video,gpio armlabd # for commands; the unit names them too
}

write_settings() {
    local -a set=()
    [ -n "$port" ] && set+=("arm.port=\"$port\"")
    case "$camera" in "") ;; *[!0-9]*) set+=("camera.source=\"$camera\"") ;; *) set+=("camera.source=$camera") ;; esac
    case "$button" in "") ;; none) set+=("stop.button.required=false" 'stop.button.board=""') ;; *) set+=("stop.button.required=true" "stop.button.board=\"$button\"") ;; esac
    [ -n "$planner" ] && set+=("planner.backend=\"$planner\"")
    [ -n "$lan" ] && set+=('http.host="0.0.0.0"')
    local template="$CONFIG_DIR/config.toml"
    [ -e "$template" ] || template=config.toml
    [ "$template" != config.toml ] && [ ${#set[@]} = 0 ] && return 0
    run mkdir -p "$CONFIG_DIR"
    run "$environment/bin/python" scripts/install_settings.py "$template" "$CONFIG_DIR/config.toml" "${set[@]}"
}

new_key() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

# Made once and shown once. What was written before a cut stays as it is.
make_keys() {
    local role file
    run mkdir -p -m 0755 "$CONFIG_DIR"
    run mkdir -p -m 0700 "$KEY_DIR"
    for role in operator api; do
        file="$KEY_DIR/arm_${role}_key"
        [ -s "$file" ] && continue
        new_key | put "$file" 0600
        [ -n "$dry" ] || new_keys+=("$role $(cat "$file")")
    done
}

place_files() {
    put "$RULES" 0644 <systemd/90-armlabd.rules
    put "$UNIT" 0644 <systemd/armlabd.service
    put "$COMMAND" 0755 <systemd/armlabd.sh
    systemd_runs || return 0
    run systemctl daemon-reload
    if command -v udevadm >/dev/null 2>&1; then
        run udevadm control --reload-rules || true
        run udevadm trigger --subsystem-match=tty --subsystem-match=gpio --subsystem-match=usb || true
    fi
}

# Switch to the new environment; one that does not come up is taken back and said.
start_service() {
    local before=""
    [ -L "$HOME_DIR/current" ] && before="$(readlink "$HOME_DIR/current")"
    if [ -n "$dry" ]; then say "would: switch to $environment, enable and restart armlabd"; return 0; fi
    switch_to "$environment"
    if ! systemd_runs; then
        systemctl enable --quiet armlabd.service
        say "systemd does not run here: armlabd starts at the next boot."
        return 0
    fi
    systemctl enable --quiet armlabd.service
    systemctl reset-failed armlabd.service 2>/dev/null || true
    if timeout "$ACTIVE_S" systemctl restart armlabd.service; then
        find "$HOME_DIR" -maxdepth 1 -name 'env-*' ! -path "$environment" -exec rm -rf {} +
        return 0
    fi
    journalctl --no-pager --lines 15 --output cat --unit armlabd.service >&2 || true
    if [ -n "$before" ] && [ "$before" != "$environment" ]; then
        switch_to "$before"
        systemctl restart armlabd.service || true
        refuse "This version did not start; its last words stand above. The version before it is back in place."
    fi
    refuse "armlabd did not start; its last words stand above. Mend that and start this script again."
}

question() { # question VARIABLE TEXT DEFAULT
    [ -n "$ask" ] && [ -z "${!1}" ] && [ ! -e "$CONFIG_DIR/config.toml" ] || return 0
    local answer
    read -r -p "$2 [$3]: " answer </dev/tty || answer=""
    printf -v "$1" %s "${answer:-$3}"
}

ask_person() {
    question port "Servo adapter: auto, or a device such as /dev/ttyACM0" auto
    question camera "Camera: none, a number such as 0, or a device" none
    question button "Stop button on the header: none, pi4, pi5 or orin" none
    question planner "Planner: auto, rules, ollama or smolvlm" auto
}

tell() {
    local row
    say ""
    say "armlabd is installed."
    for row in "${new_keys[@]}"; do say "new ${row%% *} key, shown this once: ${row#* }"; done
    say "The keys stand in $KEY_DIR, for root only."
    [ -z "$lan" ] || say "It answers on the local network. Keys travel in clear without TLS: see README, 'A laptop'."
    systemd_runs || { say "Boot this board; then 'sudo armlabd doctor' says what is still to do."; return 0; }
    say "What is still to do, in order:"
    "$COMMAND" doctor >&2 || true
}

install_all() {
    new_keys=() from=()
    ask_person
    install_python
    make_user
    build_environment
    write_settings
    make_keys
    place_files
    start_service
    [ -n "$dry" ] || tell
}

# --- taking it away -------------------------------------------------------------------------------

uninstall() {
    if systemd_runs && [ -e "$UNIT" ]; then run systemctl disable --now --quiet armlabd.service || true; fi
    [ -e "$UNIT" ] && ! systemd_runs && run systemctl disable --quiet armlabd.service
    run rm -f "$UNIT" "$UNIT.new" "$RULES" "$RULES.new" "$COMMAND" "$COMMAND.new"
    run rm -rf "$HOME_DIR" /run/armlabd # the last one: see RuntimeDirectory= in the unit
    if [ -n "$keep_state" ]; then
        say "Kept: $CONFIG_DIR and $STATE_DIR."
    else
        run rm -rf "$CONFIG_DIR" "$STATE_DIR"
        getent passwd armlabd >/dev/null && run userdel armlabd
        getent group armlabd >/dev/null && run groupdel armlabd
    fi
    if systemd_runs; then
        run systemctl daemon-reload
        run systemctl reset-failed armlabd.service 2>/dev/null || true
        command -v udevadm >/dev/null 2>&1 && run udevadm control --reload-rules || true
    fi
    say "armlabd is gone. Packages of the system that it needed stay: others may use them."
}

[ "$mode" != wheelhouse ] || { make_wheelhouse; exit 0; }
[ -n "$dry" ] || [ "$(id -u)" = 0 ] || refuse "Run it as root: sudo scripts/install.sh" 2
if [ "$mode" = uninstall ]; then uninstall; else install_all; fi
