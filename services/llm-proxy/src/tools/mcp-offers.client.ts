import { LRUCache } from "lru-cache";
import { type McpDeps, McpSession, type McpTarget, type OfferedTool } from "./mcp-session.client.ts";

/** A server's tools are asked for again after this time, while the ones known are still used. */
const FRESH_MS = 60_000;
/** A server that could not be asked is left alone for this time, so that no visitor waits for it again. */
const FAILED_MS = 10_000;
const MAX_SERVERS = 1_000;

type Request = { target: McpTarget; onFailure: (error: unknown) => void };

/** What MCP servers offer, kept for a while: asking takes several round trips, and a visitor is waiting. */
export class McpOffers {
  readonly #offers: LRUCache<string, OfferedTool[], Request>;

  constructor(deps: McpDeps) {
    this.#offers = new LRUCache<string, OfferedTool[], Request>({
      max: MAX_SERVERS,
      ttl: FRESH_MS,
      // What is known is answered at once, and asked for again meanwhile.
      allowStale: true,
      fetchMethod: async (_key, known, { options, context: { target, onFailure } }) => {
        const session = new McpSession(target, deps);
        try {
          return await session.list(AbortSignal.timeout(deps.limits().timeoutMs));
        } catch (error) {
          onFailure(error);
          options.ttl = FAILED_MS;
          return known ?? [];
        } finally {
          void session.close();
        }
      },
    });
  }

  /** The tools of a server; none when it cannot be asked, or nobody waits any more. Whoever leaves does not stop the asking. */
  async of(key: string, request: Request, signal: AbortSignal): Promise<readonly OfferedTool[]> {
    const answered = new AbortController();
    const left = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: answered.signal });
    });
    try {
      return (await Promise.race([this.#offers.fetch(key, { context: request }), left])) ?? [];
    } finally {
      answered.abort();
    }
  }
}
