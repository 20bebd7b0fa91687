import { readFile } from "node:fs/promises";
import { describeWith, freePort, readSse } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONSOLE_WORKSPACE, type ConsoleProcess, type DevelopmentSso, requestOwnersToken } from "../system/console.ts";
import { root } from "../system/processes.ts";
import { type Nginx, runNginx } from "../system/servers/nginx.ts";
import { type ConsoleSystem, startConsoleSystem } from "./console-system.ts";

/**
 * A user name that makes the session about as large as its three cookies permit. The services refuse such a long name, so the upload and
 * playground tests use access tokens from requestOwnersToken, which contain a short name.
 */
const LONG_OWNER = "o".repeat(4_500);
const ADD_SOURCE = "/api/rpc/parley.conversation.v1.KnowledgeAdminService/AddSource";

describeWith("nginx", "the console behind nginx", () => {
  let installation: ConsoleSystem;
  let sso: DevelopmentSso;
  let consoleProcess: ConsoleProcess;
  let documentedNginx: Nginx;
  let defaultNginx: Nginx;

  const resources = new AsyncDisposableStack();
  afterAll(() => resources.disposeAsync());
  beforeAll(async () => {
    installation = await startConsoleSystem({ model: "openai:tokens-10-every-300", ssoEnv: { OWNER: LONG_OWNER } });
    resources.defer(() => installation.stop());
    ({ sso, consoleProcess } = installation);
    defaultNginx = await startNginx("");
    resources.defer(() => defaultNginx.stop());
    documentedNginx = await startNginx(await readDocumentedSettings());
    resources.defer(() => documentedNginx.stop());
  });

  async function startNginx(settings: string): Promise<Nginx> {
    const port = await freePort();
    const { stop } = await runNginx(
      port,
      () => `server {
        listen 127.0.0.1:${port};
        ${settings}
        location / { proxy_pass http://127.0.0.1:${new URL(consoleProcess.url).port}; }
      }`,
    );
    return { url: `http://127.0.0.1:${port}`, stop };
  }

  /** Follows a sign-in's redirects up to the callback. Returns the path and cookies with which to request the callback. */
  async function startSignIn() {
    const jars = new Map<string, string[]>();
    let url = `${consoleProcess.url}/auth/sign-in?return_to=%2F`;
    for (let redirects = 0; redirects < 10 && !url.includes("/auth/callback"); redirects++) {
      const { origin } = new URL(url);
      const headers = { cookie: (jars.get(origin) ?? []).join("; ") };
      const response = await fetch(url, { headers, redirect: "manual" });
      jars.set(origin, [...(jars.get(origin) ?? []), ...cookiesOf(response)]);
      url = new URL(response.headers.get("location") ?? "", url).href;
    }
    const { origin, pathname, search } = new URL(url);
    return { path: pathname + search, cookie: (jars.get(origin) ?? []).join("; ") };
  }

  const cookiesOf = (response: Response) =>
    response.headers.getSetCookie().flatMap((each) => /^[^=]+=[^;]+/.exec(each)?.[0] ?? []);

  async function signInThrough(nginx: Nginx): Promise<Response> {
    const { path, cookie } = await startSignIn();
    return fetch(nginx.url + path, { headers: { cookie }, redirect: "manual" });
  }

  async function upload(nginx: Nginx, bytes: number): Promise<number> {
    const authorization = `Bearer ${await requestOwnersToken(sso)}`;
    const content = Buffer.alloc(bytes, "word ").toString("base64");
    const message = { botSlug: "guide", name: "large.txt", format: "txt", content };
    const headers = { authorization, "content-type": "application/json" };
    const response = await fetch(nginx.url + ADD_SOURCE, { method: "POST", headers, body: JSON.stringify(message) });
    await response.text();
    return response.status;
  }

  test("with nginx's default settings, sign-in and requests of the largest session fail, and so does an upload of 2 MiB", async () => {
    expect((await signInThrough(defaultNginx)).status).toBe(502);
    const cookie = cookiesOf(await signInThrough(documentedNginx)).join("; ");
    expect((await fetch(`${defaultNginx.url}/auth/session`, { headers: { cookie } })).status).toBe(400);
    expect(await upload(defaultNginx, 2 * 1024 * 1024)).toBe(413);
  });

  test("with the documented settings, an owner with the largest session signs in and loads the page", async () => {
    const callback = await signInThrough(documentedNginx);
    expect([callback.status, callback.headers.get("location")]).toEqual([302, "/"]);
    const cookies = cookiesOf(callback);
    expect(cookies.join("; ").length).toBeGreaterThan(9_000);
    const headers = { cookie: cookies.join("; ") };
    const session = await fetch(`${documentedNginx.url}/auth/session`, { headers });
    expect(await session.json()).toMatchObject({ workspace_id: CONSOLE_WORKSPACE });
    expect((await fetch(`${documentedNginx.url}/keys`, { headers })).status).toBe(200);
  });

  test("with the documented settings, uploads of 12 MiB reach the service", async () => {
    // The service reads the whole upload, and then refuses the document because its text is too long.
    expect(await upload(documentedNginx, 12 * 1024 * 1024)).toBe(400);
    expect(await upload(documentedNginx, 1_000)).toBe(200);
  });

  test("the playground's tokens arrive one by one", async () => {
    const response = await fetch(`${documentedNginx.url}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${await requestOwnersToken(sso)}`, "content-type": "application/json" },
      body: JSON.stringify({ bot_slug: "guide", session_id: crypto.randomUUID(), message: "Hello" }),
    });
    const times: number[] = [];
    for await (const item of readSse(response))
      if ("event" in item && item.event === "token") times.push(item.receivedAtMs);
    expect(times).toHaveLength(10);
    // The model pauses nine times for 300 ms. If nginx buffered, all tokens would arrive at once.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2_100);
  });

  test("the ingress annotations in the chart's console-values.yaml have the documented values", async () => {
    const settings = await readDocumentedSettings();
    const values = await readFile(`${root}charts/parley/ci/console-values.yaml`, "utf8");
    for (const [directive, annotation] of [
      ["client_max_body_size", "proxy-body-size"],
      ["proxy_buffer_size", "proxy-buffer-size"],
      ["proxy_read_timeout", "proxy-read-timeout"],
    ] as const) {
      const [, value = ""] = new RegExp(`${directive} (\\d+[km]?)s?;`).exec(settings) ?? [];
      expect(value).not.toBe("");
      expect(values).toContain(`nginx.ingress.kubernetes.io/${annotation}: "${value}"`);
    }
  });
});

async function readDocumentedSettings(): Promise<string> {
  const text = await readFile(`${root}docs/install/ingress.md`, "utf8");
  const [, settings] = /## The console\n.*?```nginx\n(.*?)```/s.exec(text) ?? [];
  if (settings === undefined)
    throw new Error("docs/install/ingress.md has no settings for nginx in front of the console");
  return settings;
}
