import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat } from "../../system/chat.ts";
import { runCliInProcess, runCliJson } from "../../system/cli.ts";
import {
  CONSOLE_WORKSPACE,
  type ConsoleProcess,
  type DevelopmentSso,
  requestOwnersToken,
} from "../../system/console.ts";
import { queryFirstRow } from "../../system/database.ts";
import { startDeviceSso } from "../../system/servers/device-sso.ts";
import type { System, Tenant } from "../../system/system.ts";
import type { ConsoleSystem } from "../console-system.ts";
import type { SignedInClient } from "../owner.ts";

const EXPORT = "/api/conversations/export.csv";
const LIST_SESSIONS = "parley.conversation.v1.SessionAdminService/ListSessions";

/** Tests the calls and downloads that the console forwards to the services. These tests run first, because later tests stop the console. */
export function forwardingSuite(shared: () => ConsoleSystem & { owner: SignedInClient }): void {
  let sso: DevelopmentSso;
  let system: System;
  let consoleProcess: ConsoleProcess;
  let owner: SignedInClient;
  let bot: Pick<Tenant, "publicKey" | "origin">;

  beforeAll(async () => {
    ({ sso, system, consoleProcess, owner } = shared());
    const domains = ["shop.example"];
    const { key } = await system.admin.keys.createKey({ workspaceId: CONSOLE_WORKSPACE, botSlug: "guide", domains });
    bot = { publicKey: key?.publicKey ?? "", origin: "https://shop.example" };
  });

  type MessageFields = { session_id?: string; message?: string; visitor_id?: string };

  /** Sends a message and returns the id of its session. The session is new if `fields` has no session_id. */
  async function sendMessage({ session_id = randomUUID(), ...fields }: MessageFields = {}): Promise<string> {
    const tenant = { ...bot, workspaceId: CONSOLE_WORKSPACE, botSlug: "guide" };
    await chat(system.url(), tenant, { session_id, ...fields });
    return session_id;
  }

  describe("the CLI with an owner's login", () => {
    let dir: string;
    let env: Record<string, string>;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "parley-login-"));
      const device = await startDeviceSso(() => requestOwnersToken(sso));
      const url = `${consoleProcess.url}/api/rpc`;
      env = {
        PARLEY_CONVERSATION_URL: url,
        PARLEY_QUOTA_URL: url,
        PARLEY_LOGIN_FILE: join(dir, "login.json"),
        PARLEY_LOGIN_ISSUER: device.issuer,
        PARLEY_LOGIN_CLIENT_ID: device.clientId,
      };
      device.decision = "approve";
      await runCliJson(["login"], env);
      await device.stop();
    });
    afterAll(() => rm(dir, { recursive: true }));

    const parley = <T>(...args: string[]) => runCliJson<T>([...args, "--workspace", CONSOLE_WORKSPACE], env);

    test("lists, shows, exports, deletes and erases conversations through the console", async () => {
      const text = "x".repeat(4_000);
      const [shown, deleted] = [await sendMessage({ message: text }), await sendMessage()];
      for (let turn = 0; turn < 40; turn++) await sendMessage({ session_id: shown, message: text });
      const ids = async () => (await parley<{ id: string }[]>("conversation", "list")).map(({ id }) => id);
      expect(await ids()).toEqual(expect.arrayContaining([shown, deleted]));
      type Transcript = { messages: { content: string }[] };
      const { messages } = await parley<Transcript>("conversation", "show", shown);
      expect(messages.filter(({ content }) => content === text)).toHaveLength(41);
      const exported = await runCliInProcess(["conversation", "export", shown, "--workspace", CONSOLE_WORKSPACE], env);
      expect((JSON.parse(exported.stdout) as Transcript).messages).toHaveLength(82);
      const missing = await runCliInProcess(
        ["conversation", "show", randomUUID(), "--workspace", CONSOLE_WORKSPACE],
        env,
      );
      expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("list sessions with parley")]);
      await parley("conversation", "delete", deleted);
      await parley("conversation", "erase", shown);
      const remaining = await ids();
      for (const id of [shown, deleted]) expect(remaining).not.toContain(id);
    });

    test("manages bots, keys and moderation patterns, and shows usage and the audit log, through the console", async () => {
      await parley("bot", "update", "--slug", "guide", "--name", "Guide");
      const key = await parley<{ public_key: string }>("key", "create", "--bot", "guide", "--domain", "a.example");
      const update = ["key", "update", key.public_key, "--domain", "b.example"];
      expect(await runCliJson(update, env)).toMatchObject({ allowed_domains: ["b.example"] });
      const rule = await parley<{ id: number }>("moderation", "add", "--bot", "guide", "--pattern", "one");
      const change = ["moderation", "update", String(rule.id), "--bot", "guide", "--pattern", "two"];
      expect(await parley(...change)).toMatchObject({ id: rule.id, pattern: "two" });
      expect(await parley("usage")).toMatchObject({ plan: "pro" });
      expect(await parley("audit-log", "--limit", "1")).toEqual([
        expect.objectContaining({
          method: "ModerationAdminService/UpdatePattern",
          member: expect.stringMatching(/./),
        }),
      ]);
    });
  });

  test("a streaming method refuses the content type of unary calls", async () => {
    expect((await owner.post("/api/rpc/parley.conversation.v1.SessionAdminService/GetTranscript")).status).toBe(415);
  });

  test("the console forwards an export with the compression that the edge chose", async () => {
    const sessionId = await sendMessage();
    // An export omits sessions that were started in the last 60 s.
    await queryFirstRow(
      system.database,
      "UPDATE conversation.sessions SET started_at = started_at - interval '2 minutes' WHERE session_id = $1",
      [sessionId],
    );
    const authorization = `Bearer ${await requestOwnersToken(sso)}`;
    const { hostname, port } = new URL(consoleProcess.url);
    const download = (acceptEncoding: string) =>
      new Promise<{ encoding: string | undefined; body: Buffer }>((resolve, reject) => {
        const headers = { authorization, "accept-encoding": acceptEncoding };
        request({ hostname, port, path: EXPORT, headers }, async (response) => {
          resolve({ encoding: response.headers["content-encoding"], body: await buffer(response) });
        })
          .on("error", reject)
          .end();
      });
    const compressed = await download("gzip");
    expect(compressed.encoding).toBe("gzip");
    expect(gunzipSync(compressed.body).toString()).toContain(sessionId);
    const plain = await download("identity");
    expect(plain.encoding).toBeUndefined();
    expect(plain.body.toString()).toContain(sessionId);
  });

  test("Basic credentials for a proxy in front of the console are ignored, and a POST with them still needs the page's CSRF headers", async () => {
    const headers = { authorization: `Basic ${Buffer.from("proxy:password").toString("base64")}` };
    expect((await owner.send(EXPORT, { headers })).status).toBe(200);
    expect((await owner.post(`/api/rpc/${LIST_SESSIONS}`, {}, headers)).status).toBe(403);
    expect((await fetch(consoleProcess.url + EXPORT, { headers })).status).toBe(401);
  });
}
