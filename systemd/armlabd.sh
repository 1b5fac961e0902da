#!/bin/sh
# The command line of the installed service: its state folder, its operator key when root asks,
# and commands that write there done as its user, so that the service can read what they wrote.
# Commands that need the arm itself pause the service meanwhile.
env=/opt/armlabd/current/bin/armlabd
key=/etc/armlabd/credentials/arm_operator_key
: "${STATE_DIRECTORY:=/var/lib/armlabd}"
export STATE_DIRECTORY
[ "$(id -u)" = 0 ] || exec "$env" "$@"

if [ -z "${ARM_OPERATOR_KEY:-}" ] && [ -r "$key" ]; then
    ARM_OPERATOR_KEY="$(cat "$key")"
    export ARM_OPERATOR_KEY
fi
as_service() {
    setpriv --reuid=armlabd --regid=armlabd --init-groups --no-new-privs \
        env HOME=/var/lib/armlabd "$env" "$@"
}
case "${1:-} ${2:-}" in
"calibrate --help" | "calibrate -h") exec "$env" "$@" ;;
"calibrate "* | "calibration import" | "calibration show")
    [ "$#" -gt 2 ] || [ "${1:-}" = calibrate ] || { as_service "$@"; exit $?; }
    if systemctl is-active --quiet armlabd.service 2>/dev/null; then
        echo "The service rests while this has the arm." >&2
        systemctl stop armlabd.service
        trap 'systemctl start armlabd.service' EXIT
        trap 'exit 130' INT TERM HUP
    fi
    as_service "$@"
    ;;
"keys "* | "models "* | "doctor "* | "audit "*) as_service "$@" ;;
*) exec "$env" "$@" ;;
esac
