import { run, succeeds } from "./commands.ts";

/** Addresses of the node's DNS servers with and without a cache: see node/config/Corefile. */
export const CACHED_DNS = "10.250.0.1";
export const UNCACHED_DNS = "10.250.0.2";
/** An address of the node's network at which nothing answers. */
export const NO_DNS = "10.250.0.9";

const SLICE = ["--namespace", "kube-system", "endpointslice", "kube-dns"];

/** Returns whether `useDns` works. Only the cluster that the tests create has a slice with this name. */
export function canReplaceDns(): Promise<boolean> {
  return succeeds("kubectl", ["get", ...SLICE]);
}

/** Makes the pods use the DNS server at an address. */
export async function useDns(address: string): Promise<void> {
  const patch = JSON.stringify({ endpoints: [{ addresses: [address] }] });
  await run("kubectl", ["patch", ...SLICE, "--type=merge", "--patch", patch]);
}
