import { readSse } from "@parley/test-support";
import { expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type DatabaseOwner, type System, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";

/** What visitors saw of a peer that was stopped amid a stream, and of one that had been stopped before. */
export type Frozen = {
  amid: { events: string[]; afterMs: number };
  anew: { status: number; events: string[]; afterMs: number };
  /** Whether a stream was whole again once the peer went on. */
  thawed: boolean;
};

const TARGETS: Record<DatabaseOwner, string> = {
  conversation: "CONVERSATION_TARGET",
  quota: "QUOTA_TARGET",
  "llm-proxy": "LLM_TARGET",
};

export type FrozenPeers = Record<DatabaseOwner, Promise<Frozen>>;

/** Stops one service for an edge of its own, as SIGSTOP and a network that drops everything do. */
export async function beginFrozenPeer(system: System, name: DatabaseOwner): Promise<Frozen> {
  const peer = await system.startReplica(name);
  const edge = await system.startEdge({ [TARGETS[name]]: `127.0.0.1:${peer.port}` });
  const url = `http://127.0.0.1:${edge.port}`;
  const [slow, quick] = await Promise.all([
    createTenant(system.admin, { model: "openai:tokens-15-every-200" }),
    createTenant(system.admin),
  ]);
  // The quota is asked at a stream's beginning alone, so it is stopped before that.
  const amid = await observe(url, slow, name === "quota" ? undefined : peer, () => peer.process().signal("SIGSTOP"));
  const anew = await observe(url, quick, undefined, () => peer.process().signal("SIGSTOP"));
  peer.process().signal("SIGCONT");
  let thawed = false;
  for (let attempt = 0; attempt < 20 && !thawed; attempt++) {
    const { events } = await observe(url, quick, undefined, () => undefined);
    thawed = events.at(-1) === "done" && !events.includes("error");
  }
  return { amid, anew, thawed };
}

/** Reads a chat; `freeze` is called at its first token, or, without a peer to wait for, before it is sent. */
async function observe(url: string, tenant: Tenant, amid: ServiceProcess | undefined, freeze: () => void) {
  if (amid === undefined) freeze();
  let frozenAt = performance.now();
  const response = await postChat(url, tenant, {}, { headers: { "x-forwarded-for": newAddress() } });
  const events: string[] = [];
  if (response.status === 200) {
    for await (const item of readSse(response)) {
      if (!("event" in item)) continue;
      events.push(item.event);
      if (amid !== undefined && events.length === 2) {
        freeze();
        frozenAt = performance.now();
      }
    }
  } else await response.text();
  return { status: response.status, events, afterMs: performance.now() - frozenAt };
}

export function frozenPeersSuite(begun: () => FrozenPeers): void {
  test("a model proxy that is frozen amid a reply is given up within 15 s, and the stream ends with error and done", async () => {
    const { amid, anew, thawed } = await begun()["llm-proxy"];
    for (const { events, afterMs } of [amid, anew]) {
      expect(events.slice(-2)).toEqual(["error", "done"]);
      expect(afterMs).toBeLessThan(15_500);
    }
    expect(thawed).toBe(true);
  });

  test("a frozen quota service: error and done within 15 s, and no model is asked", async () => {
    const { amid, anew, thawed } = await begun().quota;
    for (const { events, afterMs } of [amid, anew]) {
      expect(events).toEqual(["meta", "error", "done"]);
      expect(afterMs).toBeLessThan(15_500);
    }
    expect(thawed).toBe(true);
  });

  test("a frozen conversation service: a stream under way ends when its outcome cannot be stored, others are 503 within 15 s", async () => {
    const { amid, anew, thawed } = await begun().conversation;
    expect(amid.events.slice(-2)).toEqual(["error", "done"]);
    // The reply's three seconds, ten in which its outcome was to be stored, and ten in which that might still commit.
    expect(amid.afterMs).toBeLessThan(28_500);
    expect(anew.status).toBe(503);
    expect(anew.afterMs).toBeLessThan(15_500);
    expect(thawed).toBe(true);
  });
}
