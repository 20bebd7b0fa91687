import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, startProcess } from "@parley/test-support";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";

const RECIPES = fileURLToPath(new URL("../../docs/webhooks/", import.meta.url));
const SECRET = `whsec_${Buffer.from("a secret of the tests").toString("base64")}`;
const DATA = { bot_slug: "shop", session_id: "s", message_id: 7 };
type Target = { url: string; requests: { headers: IncomingHttpHeaders; body: unknown }[]; status: number };

/** Starts a stand-in for Slack, the CRM or the metering system. */
async function startTarget(): Promise<Target> {
  const target: Target = { url: "", requests: [], status: 200 };
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    target.requests.push({ headers: request.headers, body });
    response.writeHead(target.status).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  target.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return target;
}

/** Starts a recipe as its own process. Returns a function that sends an event to its `port`, and returns the status of its answer. */
async function startRecipe(name: string, env: Record<string, string>) {
  // Beside this test, so that Node.js finds the package standardwebhooks.
  const directory = await mkdtemp(fileURLToPath(new URL("recipe-", import.meta.url)));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const file of [name, "receive.mjs"]) await copyFile(join(RECIPES, file), join(directory, file));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const recipe = await startProcess({
    name,
    command: process.execPath,
    args: [join(directory, name)],
    env: { PORT: String(port), WEBHOOK_SECRET: SECRET, ...env },
    ready: () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
  });
  await recipe.waitReady();
  onTestFinished(async () => void (await recipe.kill9()));
  const send = async (type: string, data: object, { id = randomUUID(), secret = SECRET } = {}) => {
    const now = new Date();
    const body = JSON.stringify({ type, id, timestamp: now.toISOString(), workspace_id: "w", sequence: 1, data });
    const signature = new Webhook(secret).sign(id, now, body);
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": signature,
    };
    return (await fetch(url, { method: "POST", headers, body })).status;
  };
  return Object.assign(send, { port });
}

test("the recipe for Slack reports a reply that is rated down and a blocked message, each once", async () => {
  const slack = await startTarget();
  const send = await startRecipe("slack.mjs", { SLACK_URL: slack.url });
  const id = randomUUID();
  for (let count = 0; count < 2; count++)
    expect(await send("message.rated", { ...DATA, rating: "down" }, { id })).toBe(204);
  expect(await send("message.rated", { ...DATA, rating: "up" })).toBe(204);
  expect(await send("message.blocked", { ...DATA, reason: "insult" })).toBe(204);
  expect(slack.requests.map(({ body }) => body)).toEqual([
    { text: "A reply of shop was rated down: session s" },
    { text: "shop blocked a message (insult)" },
  ]);
});

test("a recipe refuses an event with another secret's signature", async () => {
  const slack = await startTarget();
  const send = await startRecipe("slack.mjs", { SLACK_URL: slack.url });
  const secret = `whsec_${Buffer.from("another secret").toString("base64")}`;
  expect(await send("message.blocked", { ...DATA, reason: "insult" }, { secret })).toBe(401);
  expect(slack.requests).toEqual([]);
});

test("the recipe for a CRM adds a note, and asks for the event again if the CRM fails", async () => {
  const crm = await startTarget();
  const send = await startRecipe("crm.mjs", { CRM_URL: crm.url, CRM_TOKEN: "t" });
  const id = randomUUID();
  const data = { ...DATA, message: "Is it open?", reply: "Yes, né." };
  crm.status = 503;
  expect(await send("message.completed", data, { id })).toBe(500);
  crm.status = 200;
  expect(await send("message.completed", data, { id })).toBe(204);
  expect(crm.requests).toHaveLength(2);
  expect(crm.requests[1]).toMatchObject({
    headers: { authorization: "Bearer t" },
    body: { external_id: id, conversation: "s", text: "Visitor: Is it open?\n\nshop: Yes, né." },
  });
});

test("the recipe for metering sends a CloudEvent with the event's id", async () => {
  const metering = await startTarget();
  const send = await startRecipe("metering.mjs", { METERING_URL: metering.url, METERING_TOKEN: "t" });
  const id = randomUUID();
  expect(await send("message.completed", { ...DATA, model: "openai:m", tokens_in: 5, tokens_out: 2 }, { id })).toBe(
    204,
  );
  expect(metering.requests).toMatchObject([
    {
      headers: { "content-type": "application/cloudevents+json" },
      body: {
        ...{ specversion: "1.0", id, source: "parley", type: "message", subject: "w" },
        data: { messages: 1, model: "openai:m", tokens_in: 5, tokens_out: 2 },
      },
    },
  ]);
});

test("the recipe for a help desk passes a conversation to the desk, and the agents' answers to Parley", async () => {
  const desk = await startTarget();
  const parley = await startTarget();
  const deskPort = await freePort();
  const send = await startRecipe("help-desk.mjs", {
    ...{ DESK_URL: desk.url, DESK_TOKEN: "t", DESK_SECRET: "s", DESK_PORT: String(deskPort) },
    ...{ PARLEY_URL: parley.url.slice(0, -1), PARLEY_TOKEN: "p" },
  });
  const ofSession = { bot_slug: "shop", session_id: "s1" };
  expect(await send("handoff.requested", { ...ofSession, reason: "visitor" })).toBe(204);
  expect(await send("handoff.message", { ...ofSession, message_id: 9, message: "Anybody?" })).toBe(204);
  expect(await send("message.completed", { ...ofSession, message_id: 8 })).toBe(204);
  expect(desk.requests.map(({ body }) => body)).toMatchObject([
    { conversation: "s1", text: "The visitor waits for a person (visitor)." },
    { conversation: "s1", text: "Anybody?" },
  ]);
  const left = { contact_id: randomUUID(), email: "vi@example.com", message: "Write to me." };
  expect(await send("handoff.contact", { ...ofSession, ...left })).toBe(204);
  expect(desk.requests.at(-1)?.body).toMatchObject({
    ...{ conversation: "s1", type: "handoff.contact", text: "Write to me." },
    ...{ reply_to: "vi@example.com", contact_id: left.contact_id },
  });

  const fromDesk = async (body: object, secret = "s") => {
    const headers = { authorization: `Bearer ${secret}` };
    const url = `http://127.0.0.1:${deskPort}/`;
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
  };
  const agent = { id: "a", name: "Anna" };
  const id = randomUUID();
  const answer = { conversation: "s1", id, agent, text: "Hi" };
  expect(await fromDesk(answer, "wrong")).toBe(401);
  parley.status = 409;
  expect(await fromDesk(answer)).toBe(409);
  const message = { text: "Hi", agent, request_id: id };
  expect(parley.requests.map(({ body }) => body)).toEqual([message, { action: "assign", agent }, message]);
  expect(parley.requests[0]?.headers.authorization).toBe("Bearer p");
  parley.status = 200;
  expect(await fromDesk({ conversation: "s1", closed: true })).toBe(200);
  expect(parley.requests.at(-1)?.body).toEqual({ action: "resolve" });
  const { contact_id } = left;
  expect(await fromDesk({ conversation: "s1", closed: true, contact_id })).toBe(200);
  expect(parley.requests.at(-1)?.body).toEqual({ action: "contact_done", contact_id });
  parley.status = 503;
  expect(await fromDesk(answer)).toBe(502);
});

test("a recipe survives a client that leaves before it has sent its request", async () => {
  const deskPort = await freePort();
  const send = await startRecipe("help-desk.mjs", { DESK_SECRET: "s", DESK_PORT: String(deskPort) });
  for (const port of [send.port, deskPort]) {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s\r\nContent-Length: 100\r\n\r\n{");
    await sleep(200);
    socket.destroy();
    await sleep(200);
    expect(await send("test", {})).toBe(204);
  }
});

test("the page's code for Node.js verifies an event, and refuses a changed one", async () => {
  const page = await readFile(fileURLToPath(new URL("../../docs/webhooks.md", import.meta.url)), "utf8");
  const [, code = ""] = /```js\n([^`]*)```/.exec(page) ?? [];
  const directory = await mkdtemp(fileURLToPath(new URL("recipe-", import.meta.url)));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, "verify.mjs");
  await writeFile(path, code);
  const { verifyEvent } = await import(path);
  const [id, now, body] = [randomUUID(), new Date(), JSON.stringify({ type: "test" })];
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(SECRET).sign(id, now, body),
  };
  expect(verifyEvent(SECRET, body, headers)).toEqual({ type: "test" });
  expect(() => verifyEvent(SECRET, `${body} `, headers)).toThrow("No matching signature");
});
