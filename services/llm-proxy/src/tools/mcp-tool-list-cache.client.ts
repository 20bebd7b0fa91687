import { LRUCache } from "lru-cache";
import { runWithTimeout } from "./failures.ts";
import { type McpDeps, McpSession, type McpTarget, type McpToolDescription } from "./mcp-session.client.ts";

/** A list of tools that is older than this is refreshed. */
const LIST_TTL_MS = 60_000;
/** After a listing fails, the cache waits this long before it lists again, so that not every visitor waits for the failing server. */
const FAILED_LIST_TTL_MS = 10_000;
const MAX_SERVERS = 1_000;

type ListRequest = { target: McpTarget; onFailure: (error: unknown) => void };

/** Caches each MCP server's list of tools, because listing takes several round trips while a visitor waits. */
export class McpToolListCache {
  readonly #lists: LRUCache<string, McpToolDescription[], ListRequest>;

  constructor(deps: McpDeps) {
    this.#lists = new LRUCache<string, McpToolDescription[], ListRequest>({
      max: MAX_SERVERS,
      ttl: LIST_TTL_MS,
      // A stale list is used while it is refreshed.
      allowStale: true,
      fetchMethod: async (_key, stale, { options, context: { target, onFailure } }) => {
        const session = new McpSession(target, deps);
        try {
          return await runWithTimeout(deps.limits().timeoutMs, (deadline) => session.list(deadline));
        } catch (error) {
          onFailure(error);
          options.ttl = FAILED_LIST_TTL_MS;
          return stale ?? [];
        } finally {
          void session.close();
        }
      },
    });
  }

  /**
   * Returns the tools of a server. If listing fails, returns the previous list, or an empty list if there is none. If the signal is aborted,
   * returns an empty list; the listing continues, because other callers may be waiting for it. `key` must identify the workspace, the secret
   * and the server.
   */
  async list(key: string, request: ListRequest, signal: AbortSignal): Promise<readonly McpToolDescription[]> {
    const listenerRemoval = new AbortController();
    const aborted = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: listenerRemoval.signal });
    });
    try {
      return (await Promise.race([this.#lists.fetch(key, { context: request }), aborted])) ?? [];
    } finally {
      listenerRemoval.abort();
    }
  }
}
