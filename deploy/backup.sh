#!/bin/bash
# Dump the database each night and keep the newest dumps. The service `backup` of compose.yaml runs it in the image of PostgreSQL.
# BACKUP_KEEP is how many dumps are kept, BACKUP_TIME the time of day (HH:MM, UTC). libpq reads the address from PGHOST and others.
set -euo pipefail
umask 077
folder=${BACKUP_FOLDER:-/backups}
[[ $BACKUP_KEEP =~ ^[1-9][0-9]*$ ]] || { echo "BACKUP_KEEP is $BACKUP_KEEP; expected a whole number from 1" >&2; exit 2; }
[[ $BACKUP_TIME =~ ^([01][0-9]|2[0-3]):[0-5][0-9]$ ]] || { echo "BACKUP_TIME is $BACKUP_TIME; expected HH:MM, such as 02:30" >&2; exit 2; }

wait_for_night() {
  local seconds=$(($(date -ud "$BACKUP_TIME" +%s) - $(date +%s)))
  sleep $((seconds > 0 ? seconds : seconds + 86400))
}

dump() {
  local file
  file=$folder/errorscope-$(date -u +%Y%m%dT%H%M%SZ).dump
  # A dump that cannot be listed is not complete.
  if pg_dump --format=custom --file="$file.partial" && pg_restore --list "$file.partial" >/dev/null; then
    mv "$file.partial" "$file"
    echo "wrote $file"
  else
    rm -f "$file.partial"
    return 1
  fi
  find "$folder" -maxdepth 1 -name 'errorscope-*.dump' | sort -r | tail -n +$((BACKUP_KEEP + 1)) | xargs -r rm -v --
}

if [ -n "$(find "$folder" -maxdepth 1 -name 'errorscope-*.dump' -mmin -1440)" ]; then wait_for_night; fi
while true; do
  if dump; then wait_for_night; else sleep 600; fi
done
