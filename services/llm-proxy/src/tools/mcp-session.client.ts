import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import type { Dispatcher } from "undici";
import manifest from "../../package.json" with { type: "json" };
import type { ToolLimits } from "../settings/index.ts";
import { createBoundedFetch } from "./bounded-fetch.client.ts";
import { createToolFailure } from "./failures.ts";
import type { Credentials } from "./secrets.ts";
import { ToolFailure } from "./tool-call.ts";

export type McpTarget = { url: string; credentials: Credentials };

export type McpDeps = { dispatcher: Dispatcher; limits: () => ToolLimits };

export type McpToolDescription = { name: string; description: string; schema: Record<string, unknown> };

const MAX_PAGES = 10;
const CLOSE_TIMEOUT_MS = 2_000;

/** An MCP session over streamable HTTP, for one generation or one listing of tools. Connects when it is first used. */
export class McpSession {
  readonly #target: McpTarget;
  readonly #deps: McpDeps;
  #connected: Promise<{ client: Client; transport: StreamableHTTPClientTransport }> | undefined;

  constructor(target: McpTarget, deps: McpDeps) {
    this.#target = target;
    this.#deps = deps;
  }

  /** Throws the SDK's errors, or the signal's reason. */
  async list(signal: AbortSignal): Promise<McpToolDescription[]> {
    const { client } = await this.#connect(signal);
    const offered: McpToolDescription[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const { tools, nextCursor } = await client.listTools(
        cursor === undefined ? {} : { cursor },
        this.#options(signal),
      );
      for (const { name, description = "", inputSchema } of tools)
        offered.push({ name, description, schema: { ...inputSchema } });
      if (nextCursor === undefined) break;
      cursor = nextCursor;
    }
    return offered;
  }

  /**
   * Returns the tool's result as text. Throws ToolFailure if the server reports an error or the result is too large. Can also throw the errors
   * of `list`.
   */
  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const { client } = await this.#connect(signal);
    const result = await client.callTool({ name, arguments: args }, undefined, this.#options(signal));
    const text = this.#target.credentials.redact(renderResult(result));
    if (Buffer.byteLength(text) > this.#deps.limits().maxResultBytes) throw createToolFailure("too_large");
    if (result.isError === true) throw new ToolFailure("failed", text, "isError");
    return text;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => undefined);
    if (connected === undefined) return;
    const { client, transport } = connected;
    await Promise.race([
      transport.terminateSession().catch(() => undefined),
      sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    await client.close().catch(() => undefined);
  }

  #options(signal: AbortSignal) {
    return { signal, timeout: this.#deps.limits().timeoutMs };
  }

  #connect(signal: AbortSignal) {
    this.#connected ??= this.#open(signal).catch((error) => {
      // The next `list` or `call` connects again.
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  async #open(signal: AbortSignal) {
    // The SDK is loaded on first use: it is this service's largest dependency, and most installations have no MCP server.
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ]);
    const { url, credentials } = this.#target;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: credentials.headers },
      // Eight times the limit of a result, because the protocol's envelope makes a response larger than its result.
      fetch: createBoundedFetch(this.#deps.dispatcher, this.#deps.limits().maxResultBytes * 8),
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1,
        maxReconnectionDelay: 1,
        reconnectionDelayGrowFactor: 1,
      },
    });
    const client = new Client({ name: "parley", version: manifest.version }, { jsonSchemaValidator: ACCEPT_ANYTHING });
    await client.connect(transport, this.#options(signal));
    return { client, transport };
  }
}

// Replaces the SDK's validator, which compiles the schemas of an untrusted server into code. The model gets every result as text, so results need
// no validation.
const ACCEPT_ANYTHING: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

function renderResult({ content, structuredContent }: Record<string, unknown>): string {
  const parts = (Array.isArray(content) ? content : []) as { type?: unknown; text?: unknown }[];
  const texts = parts.map((part) => (part.type === "text" ? String(part.text) : `[${String(part.type)} omitted]`));
  if (texts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return texts.join("\n");
}
