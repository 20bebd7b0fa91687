import { Agent, request } from "node:http";
import { isFullRun } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAdminMethod, METHODS, nameOf, portsOf } from "../isolation/methods.ts";
import { chat } from "../system/chat.ts";
import { type ConsoleProcess, type DevelopmentSso, startConsole, startDevelopmentSso } from "../system/console.ts";
import { mapConcurrently } from "../system/map-concurrently.ts";
import { readPeakMib } from "../system/metrics.ts";
import { POD_HEAPS, POD_MEMORY_MIB } from "../system/pods.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, SERVICE_ROLE_PASSWORD } from "../system/processes.ts";
import { openConnection } from "../system/raw-http.ts";
import { createTenant, PROVIDER_KEY, type System, startSystem, type Tenant } from "../system/system.ts";
import {
  bodyRequests,
  type HostileRequest,
  headerRequests,
  largeRequests,
  pathRequests,
  RAW_REQUESTS,
  SLOW_REQUESTS,
} from "./hostile-requests.ts";

const CALLERS = ["nobody", "a wrong token", "an owner of another workspace", "the operator"] as const;
type Caller = (typeof CALLERS)[number];

type Target = { name: keyof typeof POD_MEMORY_MIB; opsPort: number; pid: () => number };
/** `text` contains the headers, the body and the trailers. */
type ReceivedResponse = { status: number; text: string };

/** Connect returns 501 for an unknown compression. */
const PERMITTED_STATUSES = [200, 400, 401, 403, 404, 405, 408, 415, 429, 501, 503];
/**
 * Matches the codes of unexpected errors. Exception: Connect's server returns `internal` for a compressed message in a stream that names no
 * compression, although this is the caller's mistake.
 */
const UNEXPECTED = /"code":"(?:internal|unknown|data_loss)"(?!,"message":"received compressed envelope)/;
/** Matches a stack trace, a path of the source or a database URL. */
const INTERNALS = /\bat \S+ \(|node_modules|\/src\/|postgres(?:ql)?:\/\/|node:internal/;
const SECRETS = [ADMIN_TOKEN, INTERNAL_TOKEN, SERVICE_ROLE_PASSWORD, PROVIDER_KEY];
const VICTIM_SECRET = "the victim's instructions";
const CONCURRENCY = 8;

let sso: DevelopmentSso;
let system: System;
let consoleProcess: ConsoleProcess;
let victim: Tenant;
let targets: Target[];
let authorizations: Record<Caller, string | undefined>;
const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

beforeAll(async () => {
  sso = await startDevelopmentSso();
  const { console: consoleHeap, ...env } = POD_HEAPS;
  system = await startSystem({ env });
  consoleProcess = await startConsole({
    sso,
    conversationUrl: `http://127.0.0.1:${system.conversation.opsPort}`,
    quotaUrl: `http://127.0.0.1:${system.quota.opsPort}`,
    edgeUrl: system.url(),
    env: consoleHeap,
  });
  victim = await createTenant(system.admin);
  const { workspaceId, botSlug: slug } = victim;
  await system.admin.bots.updateBot({ workspaceId, slug, changes: { systemPrompt: VICTIM_SECRET } });
  const otherTenant = await createTenant(system.admin);
  const token = await system.sso.token({ workspaceId: otherTenant.workspaceId, role: "owner" });
  authorizations = {
    nobody: undefined,
    "a wrong token": `Bearer ${INTERNAL_TOKEN}`,
    "an owner of another workspace": `Bearer ${token}`,
    "the operator": `Bearer ${ADMIN_TOKEN}`,
  };
  targets = [...system.edges, system.conversation, system.quota, system.llm]
    .map(({ name, opsPort, process }): Target => ({ name, opsPort, pid: () => process().pid }))
    .concat({ name: "console", opsPort: consoleProcess.opsPort, pid: () => consoleProcess.process.pid });
});
afterAll(async () => {
  agent.destroy();
  await consoleProcess.stop();
  await system.stop();
  await sso.stop();
});

/**
 * The status is 0 if the server closes the connection without a response, or sends nothing for 30 s. If a reused connection fails before a
 * response, repeats the request on a new one, because the server may have closed the idle connection. Does not repeat a request with `mayClose`.
 */
function send(port: number, hostile: HostileRequest, connections: Agent | false = agent): Promise<ReceivedResponse> {
  const { method, path, headers, body } = hostile;
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { "content-length": String(body.length) };
    const sent = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      agent: connections,
      headers: { ...headers, ...length },
    });
    let received: ReceivedResponse = { status: 0, text: "" };
    sent.setTimeout(30_000, () => sent.destroy());
    sent.on("response", (response) => {
      received = { status: response.statusCode ?? 0, text: `${response.rawHeaders.join("\n")}\n` };
      response.setEncoding("latin1");
      response.on("data", (chunk: string) => (received.text += chunk));
      response.on("close", () => {
        const trailers = Object.entries(response.trailers).map(([name, value]) => `\n${name}: ${value}`);
        resolve({ ...received, text: `${received.text}${trailers.join("")}` });
      });
    });
    sent.on("error", () =>
      resolve(sent.reusedSocket && received.status === 0 && !hostile.mayClose ? send(port, hostile, false) : received),
    );
    sent.end(body);
  });
}

/** Returns what is wrong with a response, if anything. */
function findProblem(
  { status, text }: ReceivedResponse,
  { mayClose }: HostileRequest,
  caller: Caller,
): string | undefined {
  if (status === 0) return mayClose ? undefined : "no response";
  if (!PERMITTED_STATUSES.includes(status)) return `status ${status}`;
  if (UNEXPECTED.test(text)) return "an unexpected error";
  if (SECRETS.some((secret) => text.includes(secret))) return "a secret";
  if (INTERNALS.test(text)) return "internals";
  if (caller !== "the operator" && text.includes(VICTIM_SECRET)) return "another workspace's data";
  return undefined;
}

/** Sends requests. Returns the number of responses with each status, and the problems. */
async function attack(target: Target, requests: readonly HostileRequest[], caller: Caller) {
  const problems: string[] = [];
  const counts: Record<string, number> = {};
  await mapConcurrently(requests.length, CONCURRENCY, async (index) => {
    const hostile = requests[index] as HostileRequest;
    const received = await send(target.opsPort, hostile);
    counts[received.status] = (counts[received.status] ?? 0) + 1;
    const problem = findProblem(received, hostile, caller);
    if (problem === undefined) return;
    const body = hostile.body?.toString("latin1").slice(0, 60);
    const { method, path, headers } = hostile;
    problems.push(
      `${problem} (caller: ${caller}): ${target.name} ${method} ${path.slice(0, 90)} ${JSON.stringify({ ...headers, authorization: undefined }).slice(0, 200)} ${body} → ${received.status} ${received.text.slice(-300)}`,
    );
  });
  return { counts, problems };
}

async function expectHealthy(): Promise<void> {
  for (const { name, opsPort } of targets) {
    const { status } = await send(opsPort, { method: "GET", path: "/healthz/ready", headers: {} }, false);
    expect(status, name).toBe(200);
  }
  expect((await chat(system.url(), victim)).done).toMatchObject({ finish_reason: "stop" });
}

/** Returns each process's first unary and first streaming admin method, and AddSource, which accepts the largest bodies. */
function attackedMethods(): { target: Target; path: string }[] {
  const admin = METHODS.filter(isAdminMethod);
  return targets.flatMap((target) => {
    const own = admin.filter(({ parent }) => portsOf(system, parent).opsPort === target.opsPort);
    const chosen = ["unary", "server_streaming"].map((kind) => own.find(({ methodKind }) => methodKind === kind));
    chosen.push(own.find(({ name }) => name === "AddSource"));
    return chosen.flatMap((method) => (method ? [{ target, path: `/${nameOf(method)}` }] : []));
  });
}

function expectNoProblems(
  attackName: string,
  results: readonly { counts: Record<string, number>; problems: string[] }[],
): void {
  const total: Record<string, number> = {};
  for (const { counts } of results)
    for (const [status, count] of Object.entries(counts)) total[status] = (total[status] ?? 0) + count;
  const requests = Object.values(total).reduce((sum, count) => sum + count, 0);
  const statuses = Object.entries(total).map(([status, count]) => `${status === "0" ? "closed" : status} ${count}×`);
  console.log(`${attackName}: ${requests} requests; ${statuses.join(", ")}`);
  expect(results.flatMap(({ problems }) => problems)).toEqual([]);
}

test("every HTTP method with every path gets a permitted status", async () => {
  const results = [];
  for (const target of targets) results.push(await attack(target, pathRequests(), "nobody"));
  expectNoProblems("methods and paths", results);
  await expectHealthy();
});

test("malformed bodies in every format from every caller get a permitted status", async () => {
  const results = [];
  for (const { target, path } of attackedMethods())
    for (const caller of CALLERS)
      results.push(await attack(target, bodyRequests(path, victim.workspaceId, authorizations[caller]), caller));
  expectNoProblems("bodies", results);
  await expectHealthy();
}, 120_000);

test("odd headers get a permitted status", async () => {
  const results = [];
  for (const { target, path } of attackedMethods())
    results.push(await attack(target, headerRequests(path, ADMIN_TOKEN), "the operator"));
  expectNoProblems("headers", results);
  await expectHealthy();
});

test.runIf(isFullRun)(
  "large and compressed bodies get a permitted status or a closed connection",
  async () => {
    const results = [];
    for (const { target, path } of attackedMethods())
      for (const caller of CALLERS)
        results.push(await attack(target, largeRequests(path, authorizations[caller]), caller));
    expectNoProblems("large bodies", results);
    await expectHealthy();
  },
  120_000,
);

test("raw bytes, HTTP or not, get 200, a 4xx or a closed connection", async () => {
  const problems: string[] = [];
  for (const { name, opsPort } of targets) {
    await mapConcurrently(RAW_REQUESTS.length, CONCURRENCY, async (index) => {
      const bytes = RAW_REQUESTS[index] ?? "";
      const { socket, closed } = openConnection(opsPort);
      socket.write(Buffer.from(bytes, "latin1"));
      const text = await Promise.race([closed, new Promise<string>((resolve) => setTimeout(resolve, 10_000, "open"))]);
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "none";
      if (!/^(?:none|200|4\d\d)$/.test(status) || text === "open")
        problems.push(`${name} ${bytes.slice(0, 80)}: ${text.slice(0, 200)}`);
    });
  }
  console.log(`raw bytes: ${RAW_REQUESTS.length * targets.length} connections`);
  expect(problems).toEqual([]);
  await expectHealthy();
});

test("unfinished requests delay neither probes nor a reply", async () => {
  const connections = 100;
  const slow = targets.flatMap(({ opsPort }) =>
    Array.from({ length: connections }, (_, index) => {
      const { socket } = openConnection(opsPort);
      socket.write(SLOW_REQUESTS[index % SLOW_REQUESTS.length] ?? "");
      return socket;
    }),
  );
  const startedAt = performance.now();
  await expectHealthy();
  const ms = performance.now() - startedAt;
  for (const socket of slow) socket.destroy();
  console.log(`unfinished requests: ${slow.length}; probes of all services and a reply in ${ms.toFixed(0)} ms`);
  expect(ms).toBeLessThan(10_000);
});

test("the peak memory of each service during the attacks is below its limit in the chart", async () => {
  const peaks = await Promise.all(
    targets.map(async (target) => [target.name, Math.round(await readPeakMib(target.pid()))] as const),
  );
  console.log(
    `peak memory in MiB: ${peaks.map(([name, mib]) => `${name} ${mib} of ${POD_MEMORY_MIB[name]}`).join(", ")}`,
  );
  for (const [name, mib] of peaks) expect(mib, name).toBeLessThan(POD_MEMORY_MIB[name]);
});
