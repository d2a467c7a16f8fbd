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

while [ "$left" -gt 0 ] && [ -d "$dir" ] && lives "$owner" "$owner_start"; do
    sleep 1
    left=$((left - 1))
done
[ -d "$dir" ] || exit 0

# A server that was being started when the owner died writes itself down first: give it a second to do so.
sleep 1
touch "$dir/processes"
while read -r pid start name; do
    lives "$pid" "$start" && kill -KILL "$pid"
done < "$dir/processes"
# Killed servers write no more, so that the directory goes in one go.
sleep 1
# Real nodes ended with their first processes; their control groups are empty now.
if [ -f "$dir/control-groups" ]; then
    while read -r group; do
        case $group in
            mainstay-node-*) find /sys/fs/cgroup/*/"$group" -depth -type d -exec rmdir {} \; 2>/dev/null ;;
        esac
    done < "$dir/control-groups"
fi
rm -rf "$dir"
