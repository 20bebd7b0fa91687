import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { RemoteSettings } from "../../settings/index.ts";

/** Creates a provider's connection pool. Connections to an https URL go through `proxyUrl`, if given. */
export function createAgent(
  { baseUrl, timeouts }: Pick<RemoteSettings, "baseUrl" | "timeouts">,
  proxyUrl: string | undefined,
): Dispatcher {
  // undici's own timeouts are off, because AttemptTimer covers the whole attempt.
  const options = { headersTimeout: 0, bodyTimeout: 0 };
  const connect = { timeout: timeouts.connectMs };
  // A model server in the cluster has an http URL and is reached directly.
  if (proxyUrl === undefined || !baseUrl.startsWith("https:")) return new Agent({ ...options, connect });
  return new ProxyAgent({ ...options, uri: proxyUrl, proxyTls: connect, requestTls: connect });
}
