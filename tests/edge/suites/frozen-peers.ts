import { setTimeout as sleep } from "node:timers/promises";
import { readSse } from "@parley/test-support";
import { expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import type { ServiceWithDatabase } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";

/** The responses that visitors received while a peer was frozen. */
export type FrozenPeerResult = {
  /**
   * A stream that was open when the peer froze. For quota: a stream whose request was sent after the freeze. `afterMs` and
   * `afterLastTokenMs` are the times from the freeze and from the last token to the end of the stream.
   */
  openStream: { events: string[]; afterMs: number; afterLastTokenMs: number };
  /** A request sent after the peer froze, and the time from sending the request to the end of its response. */
  newRequest: { status: number; events: string[]; afterMs: number };
  /** Whether a later stream completed after the peer resumed. */
  hasRecovered: boolean;
};

const TARGETS: Record<ServiceWithDatabase, string> = {
  conversation: "CONVERSATION_TARGET",
  quota: "QUOTA_TARGET",
  "llm-proxy": "LLM_TARGET",
};

export type FrozenPeers = Record<ServiceWithDatabase, () => Promise<FrozenPeerResult>>;

/**
 * Starts a replica and an edge that uses it. Sends chats during which the replica is frozen with SIGSTOP. Then resumes the replica, and sends
 * chats again.
 */
export async function runFrozenPeer(system: System, name: ServiceWithDatabase): Promise<FrozenPeerResult> {
  const peer = await system.startReplica(name);
  const edge = await system.startEdge({ [TARGETS[name]]: `127.0.0.1:${peer.port}` });
  const url = `http://127.0.0.1:${edge.port}`;
  const [slow, quick] = await Promise.all([
    createTenant(system.admin, { model: "openai:tokens-15-every-200" }),
    createTenant(system.admin),
  ]);
  // The edge calls quota only when a stream opens, so quota is frozen before the request.
  const freeze = () => peer.process().signal("SIGSTOP");
  const openStream = await readChatAndFreeze(url, slow, freeze, name !== "quota");
  const newRequest = await readChatAndFreeze(url, quick, freeze);
  peer.process().signal("SIGCONT");
  let hasRecovered = false;
  for (let attempt = 0; attempt < 20 && !hasRecovered; attempt++) {
    // The edge refuses requests immediately until it has connected again.
    if (attempt > 0) await sleep(250);
    const { events } = await readChatAndFreeze(url, quick, () => undefined);
    hasRecovered = events.at(-1) === "done" && !events.includes("error");
  }
  return { openStream, newRequest, hasRecovered };
}

/** Calls `freeze` at the first token if `freezesAtFirstToken`, else before sending the request. */
async function readChatAndFreeze(url: string, tenant: Tenant, freeze: () => void, freezesAtFirstToken = false) {
  if (!freezesAtFirstToken) freeze();
  let frozenAt = performance.now();
  const response = await postChat(url, tenant, {}, { headers: { "x-forwarded-for": newClientAddress() } });
  const events: string[] = [];
  let lastTokenAt = frozenAt;
  if (response.status === 200) {
    for await (const item of readSse(response)) {
      if (!("event" in item)) continue;
      events.push(item.event);
      if (item.event === "token") lastTokenAt = performance.now();
      if (freezesAtFirstToken && events.length === 2) {
        freeze();
        frozenAt = performance.now();
      }
    }
  } else await response.text();
  const endedAt = performance.now();
  return { status: response.status, events, afterMs: endedAt - frozenAt, afterLastTokenMs: endedAt - lastTokenAt };
}

export function frozenPeersSuite(frozenPeers: FrozenPeers): void {
  test("a stream ends with error and done within 15 s when llm-proxy freezes", async () => {
    const { openStream, newRequest, hasRecovered } = await frozenPeers["llm-proxy"]();
    for (const { events, afterMs } of [openStream, newRequest]) {
      expect(events.slice(-2)).toEqual(["error", "done"]);
      expect(afterMs).toBeLessThan(15_000);
    }
    expect(hasRecovered).toBe(true);
  });

  test("a stream ends with error and done within 15 s, without tokens, when quota is frozen", async () => {
    const { openStream, newRequest, hasRecovered } = await frozenPeers.quota();
    for (const { events, afterMs } of [openStream, newRequest]) {
      expect(events).toEqual(["meta", "error", "done"]);
      expect(afterMs).toBeLessThan(15_000);
    }
    expect(hasRecovered).toBe(true);
  });

  test("when conversation freezes, an open stream ends with error because its outcome cannot be stored, and new requests get 503 within 15 s", async () => {
    const { openStream, newRequest, hasRecovered } = await frozenPeers.conversation();
    expect(openStream.events.slice(-2)).toEqual(["error", "done"]);
    // The edge tries for 4 s to store the reply as done. Then it waits 10 s, because the database may still commit the last attempt.
    expect(openStream.afterLastTokenMs).toBeLessThan(15_000);
    expect(newRequest.status).toBe(503);
    expect(newRequest.afterMs).toBeLessThan(15_000);
    expect(hasRecovered).toBe(true);
  });
}
