import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { type Dispatcher, request } from "undici";
import manifest from "../../package.json" with { type: "json" };
import type { ToolLimits } from "../settings/index.ts";
import { createBoundedFetch } from "./bounded-fetch.client.ts";
import { createToolFailure } from "./failures.ts";
import type { Credentials } from "./secrets.ts";
import { ToolFailure } from "./tool-call.ts";

export type McpTarget = { url: string; credentials: Credentials };

export type McpDeps = { dispatcher: Dispatcher; limits: () => ToolLimits };

/** What a server lists, as it sent it. */
export type ListedTools = {
  tools: readonly unknown[];
  /** Whether the server has more tools than Parley reads. */
  isTruncated: boolean;
};

const MAX_PAGES = 10;
const MAX_LISTED_TOOLS = 256;
/** Requests of a server in one session, such as pings. Parley answers each of them with a request. */
const MAX_SERVER_REQUESTS = 16;
/** The limit of a response if results are small: enough for a page of a list of tools. */
const MIN_RESPONSE_BYTES = 256 * 1024;
/** How long a server may take to respond to a session's end, and to open a session that is not needed any more. */
const CLOSE_TIMEOUT_MS = 2_000;
/** How long the end of a session may wait for a connection: as long as the longest tool call. */
const CLOSE_WAIT_MS = 60_000;
const MAX_CLOSE_RESPONSE_BYTES = 1_024;

type Connection = { client: Client; transport: StreamableHTTPClientTransport };

/** Loads the SDK on first use: it is this service's largest dependency, and most installations have no MCP server. */
export async function loadMcpSdk() {
  const [{ Client }, { StreamableHTTPClientTransport }, { ResultSchema }] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  return { Client, StreamableHTTPClientTransport, ResultSchema };
}

/** An MCP session over streamable HTTP, for one generation or one listing of tools. Connects when it is first used. */
export class McpSession {
  readonly #target: McpTarget;
  readonly #deps: McpDeps;
  readonly #closing = new AbortController();
  #connected: Promise<Connection> | undefined;
  /** Settles when the connections that failed are ended. */
  #abandoned: Promise<unknown> = Promise.resolve();
  /** Why the session cannot be used any more. */
  #failure: ToolFailure | undefined;

  constructor(target: McpTarget, deps: McpDeps) {
    this.#target = target;
    this.#deps = deps;
  }

  /** Throws ToolFailure, the SDK's errors, or the signal's reason. */
  async list(signal: AbortSignal): Promise<ListedTools> {
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#request("tools/list", params, signal);
      if (!Array.isArray(result.tools))
        throw new ToolFailure("failed", "the tool's server sent no list of tools", "no_list");
      tools.push(...(result.tools as unknown[]));
      if (tools.length > MAX_LISTED_TOOLS) return { tools: tools.slice(0, MAX_LISTED_TOOLS), isTruncated: true };
      if (typeof result.nextCursor !== "string") return { tools, isTruncated: false };
      cursor = result.nextCursor;
    }
    return { tools, isTruncated: true };
  }

  /**
   * Returns the tool's result as text. Throws ToolFailure if the server reports an error or the result is too large. Can also throw the errors
   * of `list`.
   */
  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const result = await this.#request("tools/call", { name, arguments: args }, signal);
    const text = this.#target.credentials.redact(renderResult(result));
    if (Buffer.byteLength(text) > this.#deps.limits().maxResultBytes) throw createToolFailure("too_large");
    if (result.isError === true) throw new ToolFailure("failed", text, "isError");
    return text;
  }

  /** Ends the session at the server too. Cancels running calls. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    const connection = await this.#connected?.catch(() => undefined);
    if (connection !== undefined) await this.#end(connection);
    await this.#abandoned;
  }

  /** Sends a request and returns its result. Checks only that the result is an object: the SDK refuses a whole list for one malformed tool. */
  async #request(method: string, params: Record<string, unknown>, signal: AbortSignal) {
    try {
      const [{ client }, { ResultSchema }] = await Promise.all([this.#connect(signal), loadMcpSdk()]);
      return (await client.request({ method, params }, ResultSchema, this.#options(signal))) as Record<string, unknown>;
    } catch (error) {
      throw this.#failure ?? error;
    }
  }

  #options(signal: AbortSignal) {
    return { signal: AbortSignal.any([signal, this.#closing.signal]), timeout: this.#deps.limits().timeoutMs };
  }

  #connect(signal: AbortSignal): Promise<Connection> {
    this.#connected ??= this.#open(signal).catch((error) => {
      // The next `list` or `call` connects again.
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  async #open(signal: AbortSignal): Promise<Connection> {
    const { Client, StreamableHTTPClientTransport } = await loadMcpSdk();
    const { url, credentials } = this.#target;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: credentials.headers },
      fetch: createBoundedFetch({
        dispatcher: this.#deps.dispatcher,
        // The protocol's envelope makes a response larger than its result.
        maxBytes: Math.max(MIN_RESPONSE_BYTES, this.#deps.limits().maxResultBytes * 8),
        onTooLarge: (failure) => this.#fail(failure),
      }),
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1,
        maxReconnectionDelay: 1,
        reconnectionDelayGrowFactor: 1,
      },
    });
    // The client calls this handler before its own.
    transport.onmessage = this.#createRequestLimit();
    const connection = { client: new Client({ name: "parley", version: manifest.version }), transport };
    const options = this.#options(signal);
    options.signal.throwIfAborted();
    // Has no signal: the session's id is in the response to the first request, so aborting that request would leave the session open.
    const connecting = connection.client.connect(transport, { timeout: options.timeout });
    try {
      await rejectOnAbort(connecting, options.signal);
    } catch (error) {
      this.#abandoned = Promise.all([this.#abandoned, this.#abandon(connection, connecting)]);
      throw error;
    }
    return connection;
  }

  /** Returns a handler of received messages that throws, so that the client ignores a message above the limit. */
  #createRequestLimit(): (message: JSONRPCMessage) => void {
    let requests = 0;
    return (message) => {
      if (!("method" in message && "id" in message) || ++requests <= MAX_SERVER_REQUESTS) return;
      const failure = new ToolFailure("failed", "the tool's server sent too many requests", "server_requests");
      this.#fail(failure);
      throw failure;
    };
  }

  #fail(failure: ToolFailure): void {
    this.#failure ??= failure;
    this.#closing.abort(failure);
  }

  /** Ends a connection that failed or is not needed any more. Ending it also ends its last step, which has no timeout. */
  async #abandon(connection: Connection, connecting: Promise<void>): Promise<void> {
    if (connection.transport.sessionId === undefined)
      await Promise.race([connecting.catch(() => undefined), sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    await this.#end(connection);
  }

  /** Closes the connection's streams, then sends the request that ends the session. */
  async #end({ client, transport }: Connection): Promise<void> {
    await client.close().catch(() => undefined);
    const { sessionId, protocolVersion } = transport;
    if (sessionId === undefined) return;
    const { url, credentials } = this.#target;
    // The transport cannot send it once it is closed. The response's timeout starts when the request has a connection: calls can use all of them.
    const response = await request(url, {
      dispatcher: this.#deps.dispatcher,
      method: "DELETE",
      headers: {
        "mcp-session-id": sessionId,
        ...(protocolVersion !== undefined && { "mcp-protocol-version": protocolVersion }),
        ...credentials.headers,
      },
      headersTimeout: CLOSE_TIMEOUT_MS,
      signal: AbortSignal.timeout(CLOSE_WAIT_MS),
    }).catch(() => undefined);
    const limits = { limit: MAX_CLOSE_RESPONSE_BYTES, signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) };
    await response?.body.dump(limits).catch(() => undefined);
  }
}

/** Returns the promise's result. Rejects with the signal's reason if the signal is aborted first; it must not be aborted yet. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    promise.then(resolve, reject);
  });
}

function renderResult({ content, structuredContent }: Record<string, unknown>): string {
  const parts = (Array.isArray(content) ? content : []) as ({ type?: unknown; text?: unknown } | null)[];
  const texts = parts.map((part) => (part?.type === "text" ? String(part.text) : `[${String(part?.type)} omitted]`));
  if (texts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return texts.join("\n");
}
