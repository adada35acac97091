#!/bin/sh
# Sends what happened by mail, with the machine's own sendmail:
#   notify: {command: [/etc/cloister/mail.sh, night@example.org]}
# Under the units in configs/systemd/ no program can send mail: take syslog.sh there.
# The message goes as it is, as JSON; nothing in it is run or looked up. SENDMAIL names another program.
set -eu
{
    printf 'To: %s\nSubject: Cloister needs you\n' "$1"
    printf 'Content-Type: application/json; charset=utf-8\n\n'
    cat
} | "${SENDMAIL:-/usr/sbin/sendmail}" -t -i
