import { randomUUID } from "node:crypto";
import { type Reply, readSse } from "@parley/test-support";
import { expect } from "vitest";
import { type ChatResult, postChat, readChat } from "../system/chat.ts";
import { databaseOf, queryFirstRow } from "../system/database.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";

const TOKENS = Array.from({ length: 15 }, (_, index) => `t${index} `);
export const TEXT = TOKENS.join("");
/** Streams TEXT in 3 s. */
export const MODEL = "openai:tokens-15-every-200";
/** Streams TEXT in 6 s, for tests that end a reply early. */
export const SLOW_REPLY: Reply = { tokens: TOKENS, everyMs: 400 };
const LEASE_SECONDS = 3;
/** Long enough for a busy machine. */
export const WAIT_MS = 20_000;

type TwoEdges = { system: System; tenant: Tenant };

/** Starts a system with two edges, and creates a tenant whose bot replies with TEXT. */
export async function startTwoEdges(): Promise<TwoEdges> {
  const system = await startSystem({
    edges: 2,
    env: { conversation: { EDGE_LEASE_SECONDS: String(LEASE_SECONDS) }, edge: { TRUSTED_PROXIES: "127.0.0.0/8" } },
  });
  return { system, tenant: await createTenant(system.admin, { plan: "scale", model: MODEL }) };
}

/** A message to the bot, and its idempotency key. */
export type Message = { fields: { session_id: string }; key: string };
export const urlOf = (edge: ServiceProcess) => `http://127.0.0.1:${edge.port}`;

/** Returns functions that send messages to an edge, and that read and stop their replies. */
export function createReplyClient(getTwoEdges: () => TwoEdges) {
  const newMessage = (): Message => ({ fields: { session_id: randomUUID() }, key: randomUUID() });
  const edgeAt = (index: number): ServiceProcess => {
    const edge = getTwoEdges().system.edges[index];
    if (edge === undefined) throw new Error(`there is no edge ${index}`);
    return edge;
  };

  /** Sends a message. If the message was sent before, the response contains the existing reply. */
  function send(edge: ServiceProcess, { fields, key }: Message, lastEventId?: string): Promise<Response> {
    const headers = { "idempotency-key": key, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
    return postChat(urlOf(edge), getTwoEdges().tenant, fields, { headers });
  }

  const read = async (...args: Parameters<typeof send>): Promise<ChatResult> => readChat(await send(...args));

  /** Sends a message and waits until the provider has sent the first words of its reply. `end` resolves with the whole reply. */
  async function open(edge: ServiceProcess, message: Message): Promise<{ end: Promise<ChatResult> }> {
    const { provider } = getTwoEdges().system;
    const index = provider.requests.length;
    const end = read(edge, message);
    await expect.poll(() => provider.requests[index]?.tokensSent ?? 0, { timeout: WAIT_MS }).toBeGreaterThanOrEqual(3);
    return { end };
  }

  /** Reads a running reply, and waits for its first text. `end` resolves when the connection ends. */
  async function follow(edge: ServiceProcess, message: Message): Promise<{ end: Promise<"whole" | "reset"> }> {
    const firstText = Promise.withResolvers<void>();
    const end = readEvents(await send(edge, message), () => firstText.resolve()).then(
      () => "whole" as const,
      () => "reset" as const,
    );
    await Promise.race([firstText.promise, end]);
    return { end };
  }

  /** Reads events until the text has at least `length` characters, then disconnects. */
  async function readCharacters(
    edge: ServiceProcess,
    message: Message,
    length: number,
  ): Promise<{ text: string; id: string }> {
    let text = "";
    let id = "";
    for await (const item of readSse(await send(edge, message))) {
      if (!("event" in item)) continue;
      id = item.id ?? "";
      if (item.event === "token") text += (item.data as { text: string }).text;
      if (text.length >= length) break;
    }
    return { text, id };
  }

  const stop = (edge: ServiceProcess, { fields, key }: Message) =>
    fetch(`${urlOf(edge)}/api/chat/stop/`, {
      method: "POST",
      headers: { origin: getTwoEdges().tenant.origin },
      body: JSON.stringify({ public_key: getTwoEdges().tenant.publicKey, ...fields, idempotency_key: key }),
    });

  async function statusOf({ fields }: Message): Promise<string> {
    const { system, tenant } = getTwoEdges();
    const { status } = await queryFirstRow<{ status: string }>(
      databaseOf(system, tenant.workspaceId),
      "SELECT status FROM conversation.turns WHERE session_id = $1",
      [fields.session_id],
    );
    return status;
  }

  return { edgeAt, newMessage, send, read, open, follow, readCharacters, stop, statusOf };
}

async function readEvents(response: Response, onToken: () => void): Promise<void> {
  for await (const item of readSse(response)) if ("event" in item && item.event === "token") onToken();
}
