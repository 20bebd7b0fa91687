import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { runWithTimeout, toToolFailure } from "./failures.ts";
import { type ListedTools, loadMcpSdk, type McpDeps, McpSession, type McpTarget } from "./mcp-session.client.ts";
import { type McpTool, type OmittedFunction, omit, readMcpTool } from "./mcp-tool-list.ts";
import type { ToolFailure } from "./tool-call.ts";

/** A list of tools that is older than this is refreshed. */
const LIST_TTL_MS = 60_000;
/** After a listing fails, the cache waits this long before it lists again, so that not every visitor waits for the failing server. */
const FAILED_LIST_TTL_MS = 10_000;
const MAX_SERVERS = 1_000;
/** Limit for the characters of all lists. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** A server's tools. If the last listing failed, `failure` is set, and the tools are those of the listing before. */
export type McpToolList = {
  tools: readonly McpTool[];
  omitted: readonly OmittedFunction[];
  failure: ToolFailure | undefined;
};

type ListRequest = { target: McpTarget; onFailure: (failure: ToolFailure) => void };

const NO_TOOLS: McpToolList = { tools: [], omitted: [], failure: undefined };

/** Caches each MCP server's list of tools, because listing takes several round trips while a visitor waits. */
export class McpToolListCache {
  readonly #lists: LRUCache<string, McpToolList, ListRequest>;

  constructor(deps: McpDeps) {
    this.#lists = new LRUCache<string, McpToolList, ListRequest>({
      max: MAX_SERVERS,
      maxSize: MAX_CHARACTERS,
      sizeCalculation: measure,
      ttl: LIST_TTL_MS,
      // A stale list is used while it is refreshed.
      allowStale: true,
      fetchMethod: async (_key, stale, { options, context: { target, onFailure } }) => {
        const session = new McpSession(target, deps);
        try {
          // The timeout is for the server.
          await loadMcpSdk();
          return await readTools(await runWithTimeout(deps.limits().timeoutMs, (deadline) => session.list(deadline)));
        } catch (error) {
          const failure = toToolFailure(error);
          onFailure(failure);
          options.ttl = FAILED_LIST_TTL_MS;
          return { ...(stale ?? NO_TOOLS), failure };
        } finally {
          void session.close();
        }
      },
    });
  }

  /**
   * Returns the tools of a server. If the signal is aborted, returns an empty list; the listing continues, because other callers may be waiting
   * for it. `key` must identify the workspace, the secret and the server.
   */
  async list(key: string, request: ListRequest, signal: AbortSignal): Promise<McpToolList> {
    const listenerRemoval = new AbortController();
    const aborted = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: listenerRemoval.signal });
    });
    try {
      return (await Promise.race([this.#lists.fetch(key, { context: request }), aborted])) ?? NO_TOOLS;
    } finally {
      listenerRemoval.abort();
    }
  }
}

async function readTools({ tools: listed, isTruncated }: ListedTools): Promise<McpToolList> {
  const tools = new Map<string, McpTool>();
  const omitted: OmittedFunction[] = [];
  for (const each of listed) {
    const tool = readMcpTool(each);
    if ("reason" in tool) omitted.push(tool);
    else if (tools.has(tool.name)) omitted.push(omit(tool.name, "the server lists two tools of this name"));
    else tools.set(tool.name, tool);
    // A large schema takes milliseconds, and a list can have hundreds.
    await yieldToEventLoop();
  }
  if (isTruncated) omitted.push(omit("", `the server lists more than ${listed.length} tools, or too many pages`));
  return { tools: [...tools.values()], omitted, failure: undefined };
}

function measure({ tools, omitted }: McpToolList): number {
  const texts = [
    ...tools.map(({ name, description, parameters: { schema, modelSchema } }) =>
      [name, description, JSON.stringify(schema), JSON.stringify(modelSchema)].join(),
    ),
    ...omitted.map(({ name, reason }) => name + reason),
  ];
  return texts.reduce((sum, { length }) => sum + length, 1);
}
