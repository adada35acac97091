#!/bin/sh
# Writes what happened into the system's log, where journalctl -t cloister finds it:
#   notify: {command: [/etc/cloister/syslog.sh]}
set -eu
exec logger --tag cloister --priority daemon.warning --size 8KiB
