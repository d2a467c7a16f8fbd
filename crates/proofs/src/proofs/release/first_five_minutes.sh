#!/bin/sh
# What a new user does with the tarball $TARBALL, in the empty folder $ROOT, where the loopback is the only network. The only
# program that runs inside of $ROOT is the one from the tarball. Prints the explanation of the injected fault.
set -eu
ip link set lo up
[ "$(ip -o link | wc -l)" = 1 ] || { echo "there is a network:" >&2; ip -o link >&2; exit 1; }
[ -z "$(ls -A "$ROOT")" ] || { echo "the root is not empty" >&2; exit 1; }

tar --extract --gzip --file "$TARBALL" --directory "$ROOT"
program=/$(cd "$ROOT" && echo mainstay-*/bin/mainstay)
mainstay() { env -i PATH="$PATH" chroot "$ROOT" "$program" "$@"; }

env -i PATH="$PATH" chroot "$ROOT" "$program" demo >"$OUTPUT/demo" 2>&1 &
demo=$!
trap 'kill $demo 2>/dev/null || true' EXIT

# The demo needs a moment to listen, and the engine one to notice the fault.
attempts=600
until mainstay demo inject gpu-off-the-bus r0003n01 2>"$OUTPUT/inject"; do
    attempts=$((attempts - 1))
    [ $attempts -gt 0 ] || { cat "$OUTPUT/demo" "$OUTPUT/inject" >&2; exit 1; }
    sleep 0.5
done
until mainstay demo why r0003n01 >"$OUTPUT/why" 2>&1 && grep --quiet 'fell off the bus' "$OUTPUT/why"; do
    attempts=$((attempts - 1))
    [ $attempts -gt 0 ] || { cat "$OUTPUT/demo" "$OUTPUT/why" >&2; exit 1; }
    sleep 0.5
done
cat "$OUTPUT/why"
