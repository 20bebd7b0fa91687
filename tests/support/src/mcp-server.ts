import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";

export type McpTestTool = {
  name: string;
  description?: string;
  inputSchema?: Tool["inputSchema"];
  call: (args: Record<string, unknown>) => CallToolResult | Promise<CallToolResult>;
};

export interface McpTestServer {
  url: string;
  /** Received JSON-RPC methods in order. */
  methods: string[];
  /** The Authorization header of each HTTP request, or an empty string. */
  authorizations: string[];
  countOpenSessions(): number;
  close(): Promise<void>;
}

/** Starts an MCP server over streamable HTTP with sessions. */
export async function startMcpServer(tools: readonly McpTestTool[]): Promise<McpTestServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const methods: string[] = [];
  const authorizations: string[] = [];

  async function openSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: tools.map(({ name, description = "", inputSchema = { type: "object" as const } }) => ({
        name,
        description,
        inputSchema,
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const tool = tools.find(({ name }) => name === params.name);
      if (tool === undefined) throw new Error("no such tool");
      return tool.call(params.arguments ?? {});
    });
    // The SDK's own types do not match under exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<Server["connect"]>[0]);
    return transport;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    authorizations.push(request.headers.authorization ?? "");
    const body = request.method === "POST" ? await json(request) : undefined;
    const method = (body as { method?: string } | undefined)?.method;
    if (method !== undefined) methods.push(method);
    const id = request.headers["mcp-session-id"];
    const existing = typeof id === "string" ? sessions.get(id) : undefined;
    const transport = existing ?? (method === "initialize" ? await openSession() : undefined);
    if (transport === undefined) response.writeHead(404).end();
    else await transport.handleRequest(request, response, body);
  }

  const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    methods,
    authorizations,
    countOpenSessions: () => sessions.size,
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}
