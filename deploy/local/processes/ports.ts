import { once } from "node:events";
import { createServer, isIPv6 } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError, systemCode } from "../errors.ts";

export type Ports = ReturnType<typeof assignPorts>;

/** The number of consecutive ports of one installation, starting with the public port. */
export const PORT_COUNT = 13;
/** The address on which all ports except the public one listen. */
export const LOOPBACK = "127.0.0.1";
const RETRY_INTERVAL_MS = 100;

/** Returns every port by its purpose. `edge` is the public port. */
export function assignPorts(firstPort: number) {
  return {
    edge: firstPort,
    edgeOps: firstPort + 1,
    conversation: firstPort + 2,
    conversationOps: firstPort + 3,
    quota: firstPort + 4,
    quotaOps: firstPort + 5,
    llm: firstPort + 6,
    llmOps: firstPort + 7,
    database: firstPort + 8,
    shop: firstPort + 9,
    console: firstPort + 10,
    consoleOps: firstPort + 11,
    sso: firstPort + 12,
  };
}

/** If PUBLIC_HOST has one of these values, the edge can be reached at LOOPBACK. */
const HOSTS_WITH_LOOPBACK = ["localhost", "0.0.0.0", "::", LOOPBACK];

/** Returns whether only this machine can connect to an edge with this PUBLIC_HOST. */
export function isLoopback(publicHost: string): boolean {
  return publicHost === "localhost" || publicHost === "::1" || publicHost.startsWith("127.");
}

/** Returns the URL by which this machine reaches the edge. Its host is `loopbackHost` if the edge can be reached at LOOPBACK. */
export function buildEdgeUrl(
  { publicHost, port }: { publicHost: string; port: number },
  loopbackHost = "localhost",
): string {
  const host = HOSTS_WITH_LOOPBACK.includes(publicHost) ? loopbackHost : publicHost;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

const PURPOSES: Readonly<Record<keyof Ports, string>> = {
  edge: "the public address",
  edgeOps: "the edge's ops port",
  conversation: "the conversation service",
  conversationOps: "conversation's ops port",
  quota: "the quota service",
  quotaOps: "quota's ops port",
  llm: "the llm-proxy",
  llmOps: "llm-proxy's ops port",
  database: "the database",
  shop: "the sample shop",
  console: "the console",
  consoleOps: "the console's ops port",
  sso: "the development sign-in",
};

/**
 * Throws StartError if a port cannot be opened. Waits at most `timeoutMs` in total for a previous run to release its ports. Does not check the
 * database's port, because startParley reuses a database that is still running.
 */
export async function assertPortsFree(ports: Ports, publicHost: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (const [name, port] of Object.entries(ports) as [keyof Ports, number][]) {
    if (name === "database") continue;
    const hosts = name !== "edge" ? [LOOPBACK] : publicHost === "localhost" ? [LOOPBACK, "::1"] : [publicHost];
    for (;;) {
      const problem = await probePort(hosts, port);
      if (problem === undefined) break;
      if (problem !== "EADDRINUSE" || performance.now() > deadline) throw portError(problem, port, name, ports.edge);
      await sleep(RETRY_INTERVAL_MS);
    }
  }
}

/**
 * Returns the system error code if the port cannot be opened on one of the hosts; undefined if it can. Ignores hosts after the first that this
 * machine does not have, such as the loopback address of IPv6.
 */
async function probePort(hosts: readonly string[], port: number): Promise<string | undefined> {
  for (const [index, host] of hosts.entries()) {
    const problem = await probeHost(host, port);
    if (problem !== undefined && (index === 0 || problem === "EADDRINUSE")) return problem;
  }
  return undefined;
}

async function probeHost(host: string, port: number): Promise<string | undefined> {
  const probe = createServer();
  try {
    probe.listen({ port, host, exclusive: true });
    await once(probe, "listening");
    await once(probe.close(), "close");
    return undefined;
  } catch (error) {
    return systemCode(error) ?? "unknown";
  }
}

function portError(problem: string, port: number, name: keyof Ports, firstPort: number): StartError {
  const portWithPurpose = `port ${port}, for ${PURPOSES[name]},`;
  switch (problem) {
    case "EADDRINUSE":
      return new StartError(
        `${portWithPurpose} is in use: stop the program that uses it, or set PORT=${suggestFirstPort(firstPort)} (the first of ${PORT_COUNT} consecutive ports)`,
      );
    case "EACCES":
      return new StartError(
        `${portWithPurpose} may not be opened by this user: use ports above 1023, such as PORT=8080`,
      );
    default:
      return new StartError(`${portWithPurpose} cannot be opened (${problem}): see PORT and PUBLIC_HOST`);
  }
}

function suggestFirstPort(first: number): number {
  return first < 60_000 ? first + 100 : first - 100;
}
