# Becomes the given program, after writing down who it is: a server that runs is always on record.
# Usage: sh -c launch.sh sh RECORD NAME PROGRAM [ARG...]
record=$1 name=$2
shift 2
read -r line < "/proc/$$/stat"
# The name in parentheses may hold spaces; after it, the start time is the 20th field (the 22nd of the line).
fields=${line##*) }
started=$(set -- $fields; echo "${20}")
echo "$$ $started $name" >> "$record"
exec "$@"
