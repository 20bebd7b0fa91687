import { isIPv6, type Socket } from "node:net";
import { buildConnector, Client } from "undici";
import { EgressError, unreachableError } from "./error.ts";

type ConnectThroughProxy = (
  target: buildConnector.Options,
  addresses: readonly string[],
  callback: buildConnector.Callback,
) => void;

/**
 * Returns a connector that asks an HTTP proxy for a tunnel (CONNECT) to one of the given addresses. undici's ProxyAgent would send the host's
 * name instead, and the proxy might resolve it to an address that was not checked. TLS and the Host header keep the name. If the
 * proxy opens no tunnel, the callback gets an EgressError; an error of TLS is passed on as it is.
 */
export function createTunnelConnector(proxyUrl: string, timeoutMs: number): ConnectThroughProxy {
  const proxy = new URL(proxyUrl);
  const startTls = buildConnector({ timeout: timeoutMs });
  return (target, addresses, callback) => {
    const port = target.port || (target.protocol === "https:" ? "443" : "80");
    openTunnel(proxy, toAuthorities(addresses, port), timeoutMs).then(
      (socket) =>
        target.protocol === "https:" ? startTls({ ...target, httpSocket: socket }, callback) : callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

/** Returns `address:port` for each address, IPv4 first, because few proxies have IPv6. */
function toAuthorities(addresses: readonly string[], port: string): string[] {
  const [v6, v4] = [addresses.filter(isIPv6), addresses.filter((address) => !isIPv6(address))];
  return [...v4.map((address) => `${address}:${port}`), ...v6.map((address) => `[${address}]:${port}`)];
}

/** Tries the authorities one after another within the timeout. Throws the last error. */
async function openTunnel(proxy: URL, authorities: readonly string[], timeoutMs: number): Promise<Socket> {
  const signal = AbortSignal.timeout(timeoutMs);
  let lastError: unknown;
  for (const authority of authorities) {
    try {
      return await requestTunnel(proxy, authority, timeoutMs, signal);
    } catch (error) {
      lastError = error;
      if (signal.aborted) break;
    }
  }
  throw lastError;
}

async function requestTunnel(proxy: URL, authority: string, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  // One client per tunnel: a tunnel takes over its connection to the proxy, so the connection cannot be pooled.
  // The signal ends the request, but only `connect.timeout` ends a connection attempt to the proxy: destroy() does not.
  const client = new Client(proxy.origin, { connect: { timeout: timeoutMs } });
  try {
    const headers = { host: authority, ...authorizationOf(proxy) };
    const { statusCode, socket } = await client.connect({ path: authority, headers, signal });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => undefined).destroy();
    throw unreachableError(`the proxy refused the connection with status ${statusCode}`);
  } catch (error) {
    if (error instanceof EgressError) throw error;
    const reason = signal.aborted ? "timeout" : ((error as NodeJS.ErrnoException).code ?? "no response");
    throw unreachableError(`the proxy opened no connection (${reason})`, { cause: error });
  } finally {
    void client.destroy();
  }
}

function authorizationOf({ username, password }: URL): { "proxy-authorization"?: string } {
  if (username === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}
