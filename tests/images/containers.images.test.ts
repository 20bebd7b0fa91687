import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AdminClients, createAdminClients } from "../system/admin.ts";
import { type ChatResult, chat, postChat, readChat } from "../system/chat.ts";
import { createTenant, type Tenant } from "../system/system.ts";
import { type Composition, defineComposition, docker, isDockerAvailable } from "./docker.ts";

const isAvailable = await isDockerAvailable();
if (!isAvailable) {
  const remedy = "no Docker daemon is reachable: start one, or set DOCKER_HOST";
  if (process.env.PARLEY_REQUIRE_ALL === "1") throw new Error(remedy);
  console.warn(`THE IMAGES ARE NOT TESTED: ${remedy}`);
}

/** The services that run with two replicas. */
const REPLICATED = ["conversation", "quota", "llm-proxy"];
const SERVICES = ["edge", "conversation", "quota", "llm-proxy"];
/** The reply of the fake provider's model tokens-60-every-50. */
const EXPECTED_REPLY = Array.from({ length: 60 }, (_, index) => `t${index} `).join("");
const MAX_BYTES_ABOVE_BASE = 90_000_000;

describe.runIf(isAvailable)("the images in docker-compose.yml", () => {
  let composition: Composition;
  let admin: AdminClients;
  let tenant: Tenant;
  let completedTurns = 0;

  beforeAll(async () => {
    composition = await defineComposition();
    await composition.compose("build", "sso", "cli", ...SERVICES);
    await startServices();
    admin = createAdminClients(composition.ports);
    tenant = await createTenant(admin, { model: "openai:tokens-60-every-50" });
  });
  /** Starts the services and waits until they are healthy. */
  async function startServices(): Promise<void> {
    const replicas = REPLICATED.flatMap((service) => ["--scale", `${service}=2`]);
    await composition.compose("up", "--detach", "--wait", ...replicas, "edge");
  }
  afterAll(async () => {
    await composition.compose("down", "--volumes", "--timeout", "5");
  });

  it("stream a reply, and export it with a token of the identity provider", async () => {
    const sessionId = crypto.randomUUID();
    const reply = await chat(composition.url, tenant, { session_id: sessionId });
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(reply.text).toBe(EXPECTED_REPLY);
    completedTurns++;

    const response = await fetch(`${composition.ssoUrl}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("parley:parley")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", workspace: tenant.workspaceId }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    const exported = await fetch(`${composition.url}/api/conversations/${sessionId}/export.json`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await exported.json()).toMatchObject({
      session: { id: sessionId },
      messages: [{}, { content: reply.text }],
    });
  });

  it("run CLI commands in the CLI's image", async () => {
    const workspaces = await composition.compose("run", "--rm", "cli", "workspace", "list", "--json");
    expect(workspaces).toContain(tenant.workspaceId);
  });

  it("serve the widget", async () => {
    const response = await fetch(`${composition.url}/widget.js`);
    expect(response.status).toBe(200);
    expect((await response.text()).length).toBeGreaterThan(1_000);
  });

  it.each([...REPLICATED, "edge"])("lose no reply when a replica of %s stops under load", async (service) => {
    const streams = await Promise.all(Array.from({ length: 12 }, () => openStream(composition.url, tenant)));
    const container = await composition.container(service);
    await docker("stop", container);
    const results = await Promise.all(streams.map((stream) => stream.result));
    completedTurns += results.length;
    expect(results.map(({ done }) => done?.finish_reason)).toEqual(results.map(() => "stop"));
    expect(results.map(({ text }) => text)).toEqual(results.map(() => EXPECTED_REPLY));
    expect((await docker("inspect", "--format", "{{.State.ExitCode}}", container)).trim()).toBe("0");
    await docker("start", container);
    const health = () => docker("inspect", "--format", "{{.State.Health.Status}}", container);
    await expect.poll(health, { timeout: 60_000, interval: 500 }).toMatch(/^healthy/);
  });

  it("have counted every completed turn once", async () => {
    const { workspaceId } = tenant;
    await expect
      .poll(async () => (await admin.workspaces.showUsage({ workspaceId })).usage, { timeout: 30_000 })
      .toMatchObject({ used: completedTurns, held: 0 });
  });

  it("have consistent usage data after a restore from a dump", async () => {
    const { workspaceId } = tenant;
    const postgres = (...command: string[]) =>
      composition.compose("exec", "-T", "--env", "PGPASSWORD=postgres", "postgres", ...command);
    const database = ["--host=127.0.0.1", "--username=postgres"];
    await postgres("pg_dump", ...database, "--format=custom", "--file=/tmp/parley.dump", "parley");
    expect((await chat(composition.url, tenant)).done).toMatchObject({ finish_reason: "stop" });

    await composition.compose("stop", "edge", ...REPLICATED);
    await postgres("dropdb", ...database, "parley");
    await postgres("createdb", ...database, "parley");
    for (const service of REPLICATED) await composition.compose("run", "--rm", "--no-deps", `migrate-${service}`);
    const restore = ["--clean", "--if-exists", "--exit-on-error", "--dbname=parley", "/tmp/parley.dump"];
    await postgres("pg_restore", ...database, ...restore);
    await startServices();

    // The restore removed the reply that followed the dump, and its count.
    expect((await chat(composition.url, tenant)).done).toMatchObject({ finish_reason: "stop" });
    completedTurns++;
    await expect
      .poll(async () => (await admin.workspaces.showUsage({ workspaceId })).usage, { timeout: 30_000 })
      .toMatchObject({ used: completedTurns, held: 0 });
    expect(await admin.usageAudit.auditUsage({ workspaceId })).toMatchObject({ balanced: true });
  });

  it("run as an ordinary user without capabilities on a read-only file system", async () => {
    const ids = (await composition.compose("ps", "--quiet")).trim().split("\n");
    for (const id of ids) {
      const format = "{{.Name}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Privileged}}";
      const [name = "", ...settings] = (await docker("inspect", "--format", format, id)).trim().split(" ");
      expect(settings, name).toEqual(["true", "[ALL]", "false"]);
      const users = (await docker("top", id, "-eo", "pid,uid")).trim().split("\n").slice(1).map(uidOf);
      expect(users.length, name).toBeGreaterThan(0);
      expect(users, name).not.toContain(0);
    }
    const write = "require('node:fs').writeFileSync('/app/written', '')";
    const edge = await composition.container("edge");
    await expect(docker("exec", edge, "node", "--eval", write)).rejects.toThrow("EROFS");
  });

  it.each([...SERVICES, "cli"])(
    "add less than 90 MB to Node's image, and contain no tests and no build tools (%s)",
    async (service) => {
      const size = async (image: string) => Number(await docker("image", "inspect", "--format", "{{.Size}}", image));
      expect((await size(`parley/${service}`)) - (await size("node:24-bookworm-slim"))).toBeLessThan(
        MAX_BYTES_ABOVE_BASE,
      );
      const list =
        "const { globSync, existsSync } = require('node:fs');" +
        "console.log(JSON.stringify([globSync('/app/{packages,services}/**/*.test.ts')," +
        "globSync('/app/node_modules/.pnpm/{vitest,typescript,esbuild,@biomejs+biome}@*'), existsSync('/app/deploy')]))";
      const confined = ["--network", "none", "--read-only", "--cap-drop", "ALL"];
      const run = ["run", "--rm", ...confined, "--entrypoint", "node", `parley/${service}`, "--eval", list];
      expect(JSON.parse(await docker(...run))).toEqual([[], [], false]);
    },
  );

  it.each([...SERVICES, "cli"])(
    "have labels with title, license and version, and mention no package registry in their history (%s)",
    async (service) => {
      const labels = JSON.parse(
        await docker("image", "inspect", "--format", "{{json .Config.Labels}}", `parley/${service}`),
      );
      expect(labels).toMatchObject({
        "org.opencontainers.image.title": `parley-${service}`,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": expect.stringMatching(/^\d+\.\d+\.\d+/),
      });
      const history = await docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", `parley/${service}`);
      expect(history).not.toMatch(/npmrc|registry|_authToken/i);
    },
  );
});

function uidOf(line: string): number {
  return Number(line.trim().split(/\s+/)[1]);
}

/** Sends a message and waits for the first token. */
async function openStream(url: string, tenant: Tenant): Promise<{ result: Promise<ChatResult> }> {
  const response = await postChat(url, tenant);
  expect(response.status).toBe(200);
  const [start, whole] = response.body?.tee() ?? [];
  if (start === undefined || whole === undefined) throw new Error("the response has no body");
  const reader = start.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("event: token")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended before its first token: ${text}`);
    text += value;
  }
  await reader.cancel();
  return { result: readChat(new Response(whole, { headers: response.headers })) };
}
