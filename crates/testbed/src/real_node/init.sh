# The first process of a real node, in mount, network, host name, IPC and process namespaces of its own. It mounts the node's disk,
# sets up a network that reaches nothing but the API server, and starts containerd and the kubelet. When it ends, the node ends.
# Usage: bash init.sh NAME ADDRESS PORT FOLDER PROGRAMS
set -eu
name=$1 address=$2 port=$3 folder=$4 programs=$5

echo "$name" > /proc/sys/kernel/hostname

# A /run that is empty at every boot. It also gives the node's files the same paths on every machine.
mount -t tmpfs -o mode=755 node "$folder/run"
mkdir "$folder/run/node" "$folder/run/programs"
mount --bind "$folder" "$folder/run/node"
mount --bind "$programs" "$folder/run/programs"
mount --rbind "$folder/run" /run
# The node's disk. Pods that use other folders of the machine use the machine's own.
mount --bind /run/node/var-lib /var/lib
mount --bind /run/node/var-log /var/log
# The kubelet writes to some of these files. The others tell the node's boot and machine from the real ones.
cd /run/node/kernel
for file in $(find . -type f); do
    mount --bind "$file" "/proc/sys/$file"
done
cd /
[ ! -e /etc/machine-id ] || mount --bind /run/node/machine-id /etc/machine-id
# Mounts of the kubelet reach the containers that ask for them, and never the machine: unshare has cut that path.
mount --make-rshared /

ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
# Not every kernel has dummy devices; a bridge without ports does the same.
ip link add node0 type bridge
ip addr add "$address/32" dev node0
ip link set node0 up
ip addr add 10.0.0.1/32 dev lo
/run/programs/forward "127.0.0.1:$port" 10.0.0.1:443 unix:/run/node/api.sock >> /run/node/forward.log 2>&1 &

containerd --config /run/node/containerd.toml >> /run/node/containerd.log 2>&1 &
for _ in $(seq 1000); do
    [ ! -S /run/containerd/containerd.sock ] || break
    sleep 0.02
done
ctr -n k8s.io images import --base-name localhost/pause /run/node/pause.tar
touch /run/node/containerd-is-up

/run/programs/kubelet --config /run/node/kubelet.json --kubeconfig /run/node/kubeconfig --hostname-override "$name" \
    --node-ip "$address" --node-labels testbed.mainstay.dev/kubelet=real -v 2 >> /run/node/kubelet.log 2>&1 &

# The shell buries orphans while it waits. A node that lost one of its programs would only let a test wait for its limit.
wait -n
echo "forward, containerd or the kubelet has ended"
