#!/usr/bin/env bash
# Runs a Kubernetes cluster of one node until the script is killed or a component exits. `unshare` must start the script as process 1 of its
# own pid, mount and network namespaces. When the script ends, the kernel removes the cluster's processes, mounts, interfaces and nftables rules,
# but not its cgroups.
#
#   node.sh BINARIES IMAGES STATE CGROUP NODE_JS
#
# BINARIES: folder with the Kubernetes and CoreDNS binaries. IMAGES: archive of `docker save`.
# CGROUP: name of the pods' cgroup. NODE_JS: path of Node.js.
# STATE: an empty folder. The script writes the kubeconfig and the logs to it, and the file `ready` when the node is ready.
set -euo pipefail
binaries=$1 images=$2 state=$3 cgroup=$4 node_js=$5
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$binaries:/usr/sbin:/usr/bin:/sbin:/bin"

node_ip=10.250.0.1
# CoreDNS answers at this address without a cache: see config/Corefile.
uncached_dns_ip=10.250.0.2

# Copies a file of config/ into the state folder, with this node's values.
render() {
  sed "s|@NODE_IP@|$node_ip|g; s|@UNCACHED_DNS_IP@|$uncached_dns_ip|g; s|@STATE@|$state|g; s|@CGROUP@|$cgroup|g; s|@TOKEN@|$token|g" "$here/config/$1" >"$state/$1"
}

# Hides the machine's /run and some of its kernel settings from the components.
isolate() {
  mount -t tmpfs tmpfs /run
  mkdir "$state"/{logs,etcd,kubelet,containerd,cni}
  # In memory, so that etcd does not wait for the disk.
  mount -t tmpfs tmpfs "$state/etcd"
  # The kubelet writes these settings, which apply to the whole machine. The bind mounts make it write to copies.
  for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    mkdir -p "$state/sys/$(dirname "$setting")"
    cat "/proc/sys/$setting" >"$state/sys/$setting"
    mount --bind "$state/sys/$setting" "/proc/sys/$setting"
  done
}

start_network() {
  ip link set lo up
  # The node's address must not be a loopback address. It is the address of a bridge without ports, because every kernel supports bridges.
  ip link add node type bridge
  ip address add "$node_ip/24" dev node
  ip address add "$uncached_dns_ip/24" dev node
  ip link set node up
  ip route add default dev node
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

# All pods share one cgroup. With the default weight the cgroup would get only as much CPU time as one process outside it, such as etcd.
create_cgroups() {
  local hierarchy
  for hierarchy in $(awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts); do
    mkdir -p "$hierarchy/$cgroup"
    [ ! -e "$hierarchy/$cgroup/cpu.shares" ] || echo 10240 >"$hierarchy/$cgroup/cpu.shares"
    [ ! -e "$hierarchy/$cgroup/cpu.weight" ] || echo 1000 >"$hierarchy/$cgroup/cpu.weight"
  done
}

start() {
  local name=$1
  shift
  "$@" >"$state/logs/$name" 2>&1 &
}

await() {
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.2
  done
  echo "not ready after 300 attempts: $*" >&2
  exit 1
}

isolate
start_network
create_cgroups

token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
openssl genrsa -out "$state/service-accounts.key" 2048 2>/dev/null
echo "$token,admin,admin,system:masters" >"$state/tokens.csv"
for file in kubeconfig containerd.toml kubelet.yaml proxy.yaml Corefile; do render "$file"; done
cp "$here/config/10-pods.conflist" "$state/cni/"
export KUBECONFIG="$state/kubeconfig"

start containerd containerd --config "$state/containerd.toml"
start etcd etcd --data-dir "$state/etcd" --log-level warn
start apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 --advertise-address "$node_ip" --cert-dir "$state/apiserver" \
  --service-cluster-ip-range 10.96.0.0/16 --kubelet-preferred-address-types InternalIP --token-auth-file "$state/tokens.csv" --authorization-mode RBAC \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$state/service-accounts.key" \
  --service-account-signing-key-file "$state/service-accounts.key" --profiling=false

ctr=(ctr --address "$state/containerd.sock" --namespace k8s.io)
await "${ctr[@]}" version
"${ctr[@]}" images import --no-unpack=false "$images" >"$state/logs/images" 2>&1 &
import=$!

await kubectl get --raw /readyz
start controller-manager kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false \
  --service-account-private-key-file "$state/service-accounts.key" --root-ca-file "$state/apiserver/apiserver.crt" \
  --cert-dir "$state/controller-manager"
start scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false --cert-dir "$state/scheduler"
start proxy kube-proxy --config "$state/proxy.yaml"
start network-policies "$node_js" --experimental-strip-types --disable-warning=ExperimentalWarning "$here/network-policies.ts" "$token"
start coredns coredns -conf "$state/Corefile"
kubectl apply --filename "$here/config/dns.yaml" >/dev/null
wait "$import"
start kubelet kubelet --config "$state/kubelet.yaml" --kubeconfig "$KUBECONFIG" --root-dir "$state/kubelet" --node-ip "$node_ip" \
  --hostname-override node --cert-dir "$state/kubelet-certificates"
await kubectl wait --for condition=Ready node/node --timeout 1s
touch "$state/ready"

# Exits when the first component exits.
wait -n || true
echo "a component ended: see $state/logs" >&2
exit 1
