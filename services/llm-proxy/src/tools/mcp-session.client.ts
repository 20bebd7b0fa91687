import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import type { Dispatcher } from "undici";
import type { ToolLimits } from "../settings/index.ts";
import { boundedFetch } from "./bounded-fetch.client.ts";
import { failureOf } from "./failures.ts";
import type { Credentials } from "./secrets.ts";
import { ToolFailure } from "./tool-call.ts";

export type McpTarget = { url: string; credentials: Credentials };

export type McpDeps = { dispatcher: Dispatcher; limits: () => ToolLimits };

/** What a server says of one of its tools. */
export type OfferedTool = { name: string; description: string; schema: Record<string, unknown> };

const MAX_PAGES = 10;
const CLOSE_MS = 2_000;

/** A conversation with one MCP server over streamable HTTP, for as long as one reply takes; connected when it is first needed. */
export class McpSession {
  readonly #target: McpTarget;
  readonly #deps: McpDeps;
  #connected: Promise<{ client: Client; transport: StreamableHTTPClientTransport }> | undefined;

  constructor(target: McpTarget, deps: McpDeps) {
    this.#target = target;
    this.#deps = deps;
  }

  /** Every tool the server offers, page by page. Throws what the SDK throws, or the signal's reason. */
  async list(signal: AbortSignal): Promise<OfferedTool[]> {
    const { client } = await this.#connect(signal);
    const offered: OfferedTool[] = [];
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

  /** Calls a tool and returns the text of its answer. Throws ToolFailure when the server says that it failed. */
  async call(name: string, values: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const { client } = await this.#connect(signal);
    const result = await client.callTool({ name, arguments: values }, undefined, this.#options(signal));
    const text = this.#target.credentials.conceal(textOf(result));
    if (Buffer.byteLength(text) > this.#deps.limits().maxResultBytes) throw failureOf("too_large", "");
    if (result.isError === true) throw new ToolFailure("failed", text, "isError");
    return text;
  }

  /** Ends the conversation; what fails then no longer matters to anybody. */
  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => undefined);
    if (connected === undefined) return;
    const { client, transport } = connected;
    await Promise.race([
      transport.terminateSession().catch(() => undefined),
      sleep(CLOSE_MS, undefined, { ref: false }),
    ]);
    await client.close().catch(() => undefined);
  }

  #options(signal: AbortSignal) {
    return { signal, timeout: this.#deps.limits().timeoutMs };
  }

  #connect(signal: AbortSignal) {
    this.#connected ??= this.#open(signal);
    return this.#connected;
  }

  async #open(signal: AbortSignal) {
    // Loaded when the first bot with a server is asked: most installations have none, and it is the largest package here.
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ]);
    const { url, credentials } = this.#target;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: credentials.headers },
      // Room for what surrounds the answer itself.
      fetch: boundedFetch(this.#deps.dispatcher, this.#deps.limits().maxResultBytes * 8),
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1,
        maxReconnectionDelay: 1,
        reconnectionDelayGrowFactor: 1,
      },
    });
    const client = new Client({ name: "parley", version: "0.1.0" }, { jsonSchemaValidator: TAKE_ANYTHING });
    await client.connect(transport, this.#options(signal));
    return { client, transport };
  }
}

// The SDK would compile the schemas a server sends into code; what a tool answers goes to the model as text, whatever its shape.
const TAKE_ANYTHING: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

function textOf({ content, structuredContent }: Record<string, unknown>): string {
  const parts = (Array.isArray(content) ? content : []) as { type?: unknown; text?: unknown }[];
  const texts = parts.map((part) => (part.type === "text" ? String(part.text) : `[${String(part.type)} left out]`));
  if (texts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return texts.join("\n");
}
