# Outlives a test process (or the whole run) by a moment: when the owner is gone, ends the servers on record and removes
# their directory. A test that is killed cannot do this itself.
# Usage: sh -c keeper.sh sh DIR OWNER_PID OWNER_START SECONDS_AT_MOST
dir=$1 owner=$2 owner_start=$3 left=$4

# True while the process with this pid is the one that began then, and not a zombie.
lives() {
    line=
    read -r line 2>/dev/null < "/proc/$1/stat" || return 1
    want=$2
    # Word splitting is wanted: state is field 1 and start time field 20 after the name in parentheses.
    set -- ${line##*) }
    [ "$1" != Z ] && [ "${20}" = "$want" ]
}

each_server() {
    [ -f "$dir/processes" ] || return 0
    while read -r pid start name; do
        lives "$pid" "$start" && kill "-$1" "$pid" 2>/dev/null && some=yes
    done < "$dir/processes"
}

while [ "$left" -gt 0 ] && [ -d "$dir" ] && lives "$owner" "$owner_start"; do
    sleep 1
    left=$((left - 1))
done
[ -d "$dir" ] || exit 0

# A server that was being started when the owner died writes itself down first: give it a second to do so.
sleep 1
each_server TERM
for _ in 1 2 3 4 5; do
    sleep 1
    some=no
    each_server 0
    [ "$some" = no ] && break
done
each_server KILL
rm -rf "$dir"
