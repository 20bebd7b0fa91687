// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { readSse, type SseComment, type SseEvent } from "@parley/test-support";
import { expect, test, vi } from "vitest";
import { createTenant } from "../../system/system.ts";
import { createApi } from "../support/api.ts";
import { type ContractSystem, readTranscript } from "../support/contract-system.ts";

/** Results of slow scenarios. The scenarios start with the system; their tests run after most other suites. */
export type TimeoutScenarios = {
  heartbeat: Promise<{ silenceMs: number; lastEvent: string }>;
  doctorSilence: Promise<{ silenceMs: number; commentCount: number }>;
  slowBody: Promise<{ closedAfterMs: number }>;
  killedEdge: Promise<{ status: unknown; afterMs: number }>;
};

export async function startTimeoutScenarios(system: ContractSystem): Promise<TimeoutScenarios> {
  // Reads the silent stream's first event before the suites start. Later, the suites keep this process busy, so it would record
  // the event's time too late.
  const silentStream = await openSilentStream(system);
  const scenarios = {
    heartbeat: waitForHeartbeat(silentStream),
    doctorSilence: readDoctorWithSilence(system),
    slowBody: sendBodySlowly(system),
    killedEdge: killEdgeDuringTurn(system),
  };
  // Without this line, a scenario that fails before its test starts would cause an unhandled rejection.
  for (const scenario of Object.values(scenarios)) scenario.catch(() => undefined);
  return scenarios;
}

export function timeoutsSuite(scenarios: () => TimeoutScenarios): void {
  test("a silent stream gets a heartbeat comment after 15 s [D21/1]", async () => {
    const { silenceMs, lastEvent } = await scenarios().heartbeat;
    expect(silenceMs).toBeGreaterThan(14_500);
    expect(silenceMs).toBeLessThan(17_000);
    expect(lastEvent).toBe("done");
  });

  test("the doctor sends no heartbeat comment during a requested silence of 20 s [D41/2]", async () => {
    const { silenceMs, commentCount } = await scenarios().doctorSilence;
    expect(silenceMs).toBeGreaterThan(16_000);
    expect(commentCount).toBe(0);
  });

  test("a connection whose request body arrives at one byte a second is closed at the request timeout [H/7]", async () => {
    const { closedAfterMs } = await scenarios().slowBody;
    expect(closedAfterMs).toBeGreaterThan(29_000);
    expect(closedAfterMs).toBeLessThan(34_000);
  });

  test("the turn of a killed edge is closed as interrupted within 60 s [D17/2]", async () => {
    const { status, afterMs } = await scenarios().killedEdge;
    expect(status).toBe("interrupted");
    expect(afterMs).toBeLessThan(60_000);
  });
}

type SilentStream = { rest: AsyncGenerator<SseEvent | SseComment>; silentSince: number };

/** Opens a stream that is silent for 17 s after its first event. */
async function openSilentStream({ admin, api }: ContractSystem): Promise<SilentStream> {
  const tenant = await createTenant(admin, { model: "patient:first-17000" });
  const stream = readSse(await api.openChat(tenant));
  const { value: meta } = await stream.next();
  if (!meta || !("event" in meta) || meta.event !== "meta") throw new Error("the stream does not begin with meta");
  return { rest: stream, silentSince: meta.receivedAtMs };
}

/** Reads the stream to its end. Returns the silence before its first comment, and the name of its last event. */
async function waitForHeartbeat({
  rest,
  silentSince,
}: SilentStream): Promise<{ silenceMs: number; lastEvent: string }> {
  let silenceMs = 0;
  let lastEvent = "";
  for await (const item of rest) {
    if ("comment" in item) silenceMs ||= item.receivedAtMs - silentSince;
    else lastEvent = item.event;
  }
  return { silenceMs, lastEvent };
}

/** Requests a silence of 20 s from the endpoint of `parley doctor`. Returns the time between the last two events, and the number of comments. */
async function readDoctorWithSilence({
  admin,
  api,
}: ContractSystem): Promise<{ silenceMs: number; commentCount: number }> {
  const { publicKey: public_key, origin } = await createTenant(admin);
  const body = { public_key, silence_ms: 20_000 };
  const response = await api.send({ method: "POST", path: "/api/doctor/", headers: { origin }, body });
  const eventTimes: number[] = [];
  let commentCount = 0;
  for await (const item of readSse(response)) {
    if ("comment" in item) commentCount++;
    else eventTimes.push(item.receivedAtMs);
  }
  const [lastTick = 0, done = 0] = eventTimes.slice(-2);
  return { silenceMs: done - lastTick, commentCount };
}

async function sendBodySlowly(system: ContractSystem): Promise<{ closedAfterMs: number }> {
  const startedAt = performance.now();
  const headers = { "content-length": "1000", origin: "https://shop.example" };
  const clientRequest = request(`${system.url()}/api/chat/`, { method: "POST", headers });
  const closed = new Promise((resolve) => {
    clientRequest.once("close", resolve);
    clientRequest.once("error", resolve);
    clientRequest.once("response", (response) => response.resume().once("close", resolve));
  });
  const writing = setInterval(() => clientRequest.write(" "), 1_000);
  await closed;
  clearInterval(writing);
  return { closedAfterMs: performance.now() - startedAt };
}

/** Returns the turn's status in the export, and how long after the kill the turn appeared there. */
async function killEdgeDuringTurn(system: ContractSystem): Promise<{ status: unknown; afterMs: number }> {
  const [tenant, edge] = await Promise.all([
    createTenant(system.admin, { model: "patient:tokens-1000-every-100" }),
    system.startEdge({}),
  ]);
  const api = await createApi(`http://127.0.0.1:${edge.port}`);
  const session_id = randomUUID();
  const response = await api.openChat(tenant, { session_id });
  await response.body?.getReader().read();
  await edge.kill9();
  const killedAt = performance.now();
  const readClosedTurn = async () => {
    const last = (await readTranscript(system, tenant, session_id)).messages.at(-1);
    if (last === undefined) throw new Error("the turn of the killed edge is not closed");
    return { status: last.status, afterMs: performance.now() - killedAt };
  };
  return vi.waitFor(readClosedTurn, { timeout: 70_000, interval: 250 });
}
