import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { signIn } from "../../console/owner.ts";
import { postChat, readChat } from "../../system/chat.ts";
import { startConsole, startDevelopmentSso } from "../../system/console.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { Fixture } from "../fixture.ts";

/** The labels that any Parley series may have. Their values are fixed words or names from the configuration. */
const LABELS = new Set([
  "service",
  "le",
  ...["route", "method", "status", "code", "finish", "outcome", "reason", "next", "result", "where"],
  ...["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type", "error_type"],
  ...["provider", "plan", "pool", "state", "kind", "class", "table", "file", "task"],
]);
/** The metrics with series only for workspaces near a bound. */
const NEAR_METRICS = ["parley_quota_workspace_used_ratio", "parley_quota_workspace_unpaid_ratio"];
/** The metrics with series only for the ten workspaces with the highest values. */
const TOP_METRICS = ["parley_quota_workspace_used_messages", "parley_llm_workspace_day_cost"];
/** The only metrics that may have a workspace label. */
const WORKSPACE_METRICS = [...NEAR_METRICS, ...TOP_METRICS];

export function labelsSuite(shared: () => Fixture): void {
  async function scrape({ name, opsPort }: { name: string; opsPort: number }): Promise<string[]> {
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return text.split("\n").flatMap((line) => (/^(parley|gen_ai)_/.test(line) ? [`${name}:${opsPort} ${line}`] : []));
  }
  async function scrapeAll(): Promise<string[]> {
    const { edges, conversation, quota, llm } = shared().system;
    return (await Promise.all([...edges, conversation, quota, llm].map(scrape))).flat();
  }
  const labelsOf = (line: string) => [...line.matchAll(/[{,](\w+)="/g)].map(([, name = ""]) => name);
  // An idle connection of an earlier request may time out at any moment, so its series may begin then.
  const seriesOf = (lines: readonly string[]) =>
    lines
      .map((line) => line.slice(0, line.lastIndexOf(" ")))
      .filter((series) => !series.includes('code="request_timeout"'))
      .sort();

  test("labels contain no session, visitor, message, key or address, and visitors add no series", async () => {
    const { system, tenants } = shared();
    const tenant = tenants.main;
    const forbiddenTexts: string[] = [tenant.publicKey];
    const round = async () => {
      const sessionId = randomUUID();
      const visitorId = `visitor-${randomUUID()}`;
      const address = newClientAddress();
      const message = `A message ${randomUUID()}`;
      const fields = { session_id: sessionId, visitor_id: visitorId, message };
      const headers = { "x-forwarded-for": address };
      const [result] = await Promise.all([
        postChat(system.url(), tenant, fields, { headers }).then(readChat),
        postChat(system.url(1), tenant, fields, { headers: { ...headers, origin: `https://${randomUUID()}.example` } }),
        fetch(`${system.url()}/api/conversations/${sessionId}/export.json`, { headers }),
        fetch(`${system.url()}/${randomUUID()}`, { method: "PURGE", headers }),
      ]);
      expect(result.meta).toMatchObject({ message_id: expect.any(Number) });
      forbiddenTexts.push(sessionId, visitorId, address, message, `"${result.meta?.message_id}"`);
    };
    for (let index = 0; index < 3; index++) await round();
    // The gauges of usage are up to 5 s old.
    const used = `parley_quota_workspace_used_messages{workspace="${tenant.workspaceId}"`;
    await expect.poll(async () => (await scrapeAll()).join("\n"), { timeout: 15_000 }).toContain(used);
    const before = seriesOf(await scrapeAll());
    for (let index = 0; index < 10; index++) await round();
    const lines = await scrapeAll();
    expect(seriesOf(lines).filter((series) => !before.includes(series))).toEqual([]);

    for (const text of forbiddenTexts) expect(lines.filter((line) => line.includes(text))).toEqual([]);
    const labels = lines.flatMap((line) => {
      const metric = /^\S+ (\w+)/.exec(line)?.[1] ?? "";
      return labelsOf(line).filter((name) => !(WORKSPACE_METRICS.includes(metric) && name === "workspace"));
    });
    expect([...new Set(labels)].filter((label) => !LABELS.has(label))).toEqual([]);
    const workspacesOf = (metric: string) => {
      const ofMetric = lines.filter((line) => line.includes(` ${metric}{`));
      return new Set(ofMetric.map((line) => /workspace="([^"]*)"/.exec(line)?.[1]));
    };
    const { full, near, nearUnpaid } = tenants;
    expect(NEAR_METRICS.map(workspacesOf)).toEqual([
      new Set([full.workspaceId, near.workspaceId]),
      new Set([nearUnpaid.workspaceId]),
    ]);
    for (const metric of TOP_METRICS) expect(workspacesOf(metric).size).toBeLessThanOrEqual(10);
    expect(workspacesOf("parley_llm_workspace_day_cost")).toEqual(new Set([near.workspaceId]));
  });

  test("the console's labels contain no input of owners, and owners add no series", async () => {
    const consoleProcess = await startConsoleFor(shared());
    const inputs: string[] = [];
    const round = async () => {
      const input = randomUUID();
      inputs.push(input);
      const { send, post } = await signIn(consoleProcess.url);
      const signInUrl = (await send("/auth/sign-in", { redirect: "manual" })).headers.get("location") ?? "";
      const state = new URL(signInUrl).searchParams.get("state");
      const responses = await Promise.all([
        send(`/${input}?${input}`, { method: "PURGE" }),
        send(`/auth/callback?state=${state}&error=${input}`, { redirect: "manual" }),
        send(`/api/conversations/export.csv?${input}`),
        post(`/api/rpc/${input}/GetBot`),
        post("/api/rpc/parley.conversation.v1.BotAdminService/GetBot", { slug: input }),
        post("/api/chat/playground/", { bot_slug: input, session_id: input, message: input }),
      ]);
      for (const response of responses) await response.text();
    };
    for (let index = 0; index < 2; index++) await round();
    const before = seriesOf(await scrape(consoleProcess));
    for (let index = 0; index < 5; index++) await round();
    const lines = await scrape(consoleProcess);
    expect(lines.filter((line) => line.includes(" parley_console_calls_total{"))).not.toEqual([]);
    expect(seriesOf(lines).filter((series) => !before.includes(series))).toEqual([]);
    for (const input of inputs) expect(lines.filter((line) => line.includes(input))).toEqual([]);
    expect([...new Set(lines.flatMap(labelsOf))].filter((label) => !LABELS.has(label))).toEqual([]);
  });
}

/**
 * Starts a console in front of the system's services, and stops it at the end of the test. The services refuse the tokens of the console's
 * owners.
 */
async function startConsoleFor({ system }: Fixture): Promise<{ name: string; url: string; opsPort: number }> {
  const sso = await startDevelopmentSso();
  onTestFinished(() => sso.stop());
  const { url, opsPort, stop } = await startConsole({
    sso,
    conversationUrl: `http://127.0.0.1:${system.conversation.opsPort}`,
    quotaUrl: `http://127.0.0.1:${system.quota.opsPort}`,
    edgeUrl: system.url(),
  });
  onTestFinished(stop);
  return { name: "console", url, opsPort };
}
