import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { chat, postChat } from "../../system/chat.ts";
import { query } from "../../system/database.ts";
import { newAddress } from "../../system/visitors.ts";
import type { Stage } from "../stage.ts";

/** Every label that a series of ours may carry; each of its values is a word of ours or a name from the configuration. */
const LABELS = new Set([
  "service",
  "le",
  ...["route", "method", "status", "code", "finish", "outcome", "reason", "next", "result"],
  ...["provider", "direction", "plan", "pool", "state"],
]);
/** On one metric alone, and only near the cap. */
const NAMES_WORKSPACES = "parley_quota_workspace_used_ratio";

/** However many visitors come: the series stay the same, and nobody can be found in them. */
export function labelsSuite(shared: () => Stage): void {
  async function scrapeAll(): Promise<string[]> {
    const { edges, conversation, quota, llm } = shared().system;
    const pages = [...edges, conversation, quota, llm].map(async ({ name, opsPort }) => {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
      return text.split("\n").flatMap((line) => (line.startsWith("parley_") ? [`${name}:${opsPort} ${line}`] : []));
    });
    return (await Promise.all(pages)).flat();
  }
  const seriesOf = (lines: readonly string[]) => lines.map((line) => line.slice(0, line.lastIndexOf(" "))).sort();

  test("no label holds a session, a visitor, a message, a key or an address, and visitors add no series", async () => {
    const { system, cast } = shared();
    // Ids that can be mistaken for no count and no status.
    await query(system.database, "SELECT setval('conversation.message_ids', 8000000001)");
    const tenant = cast.main;
    const secrets: string[] = [tenant.publicKey];
    const round = async () => {
      const sessionId = randomUUID();
      const visitorId = `visitor-${randomUUID()}`;
      const address = newAddress();
      const message = `A message ${randomUUID()}`;
      const fields = { session_id: sessionId, visitor_id: visitorId, message };
      const headers = { "x-forwarded-for": address };
      const [result] = await Promise.all([
        chat(system.url(), tenant, fields),
        postChat(system.url(1), tenant, fields, { headers: { ...headers, origin: `https://${randomUUID()}.example` } }),
        fetch(`${system.url()}/api/conversations/${sessionId}/export.json`, { headers }),
        fetch(`${system.url()}/${randomUUID()}`, { method: "PURGE", headers }),
      ]);
      secrets.push(sessionId, visitorId, address, message, `"${result.meta?.message_id}"`);
    };
    for (let index = 0; index < 3; index++) await round();
    const before = seriesOf(await scrapeAll());
    for (let index = 0; index < 10; index++) await round();
    const lines = await scrapeAll();
    expect(seriesOf(lines).filter((series) => !before.includes(series))).toEqual([]);

    for (const secret of secrets) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    const labels = lines.flatMap((line) => {
      const metric = /^\S+ (\w+)/.exec(line)?.[1] ?? "";
      const names = [...line.matchAll(/[{,](\w+)="/g)].map(([, name = ""]) => name);
      return names.map((name) => (metric === NAMES_WORKSPACES && name === "workspace" ? "service" : name));
    });
    expect([...new Set(labels)].filter((label) => !LABELS.has(label))).toEqual([]);
    // Nobody is named who is not near the cap.
    const named = lines.filter((line) => line.includes(` ${NAMES_WORKSPACES}{`));
    const workspaces = named.map((line) => /workspace="([^"]*)"/.exec(line)?.[1]);
    expect(new Set(workspaces)).toEqual(new Set([cast.full.workspaceId, cast.near.workspaceId]));
  });
}
