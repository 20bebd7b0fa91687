import { execFile } from "node:child_process";
import { access, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createDatabase,
  isFullRun,
  type RunningProcess,
  startTestPostgres,
  type TestDatabase,
  type TestPostgres,
} from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInstance, type Instance, portsInUse, startInstanceAndWait } from "./system/local-start.ts";
import { root } from "./system/processes.ts";

const readme = await readFile(join(root, "README.md"), "utf8");

// The tests of this file share one running Parley, started with DATABASE_URL. tests/start.extended.test.ts tests a start with the embedded database.
let instance: Instance;
let server: TestPostgres;
let database: TestDatabase;
let parley: RunningProcess;
beforeAll(async () => {
  // A separate server, because Parley sets the passwords of roles when it starts, and the roles belong to the whole server.
  [server, instance] = await Promise.all([startTestPostgres(), createInstance()]);
  database = await createDatabase(undefined, { serverUrl: server.url });
  parley = await startInstanceAndWait(instance, {
    DATABASE_URL: database.url,
    // docs/knowledge.md requires this setting to fetch a page of the sample shop.
    EGRESS_ALLOW: "127.0.0.1/32",
  });
}, 180_000);
afterAll(async () => {
  await parley.stop("SIGINT", 60_000);
  await Promise.all([instance.remove(), server.stop()]);
}, 90_000);

function shellBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

/** Runs all shell blocks of a page of docs/ and returns their output. */
async function runPage(page: string): Promise<string> {
  return run(shellBlocks(await readFile(join(root, "docs", page), "utf8")).join(""));
}

/** Returns the shell blocks of a section of the README. */
function readmeBlocks(heading: string): string[] {
  return shellBlocks(readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "");
}

/** Runs documented commands with the ports of `instance` and returns their output. */
async function run(commands: string): Promise<string> {
  const script = commands
    .replaceAll("localhost:8080", `localhost:${instance.port}`)
    .replaceAll("localhost:8089", `localhost:${instance.shopPort}`);
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: root,
    env: { ...process.env, ...instance.env },
    timeout: 90_000,
  });
  return stdout;
}

type Transcript = {
  session: { id: string };
  messages: { role: string; content: string; status: string; model: string }[];
};

/** Returns what a stream of Server-Sent Events contains, without the numbers that differ between runs. */
function summarizeStream(stream: string) {
  const events = [...stream.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event = "", data = ""]) => ({
    event,
    data: JSON.parse(data) as Record<string, unknown>,
  }));
  const dataOf = (name: string) => events.find(({ event }) => event === name)?.data;
  const texts = events.filter(({ event }) => event === "token").map(({ data }) => data.text);
  return {
    session: dataOf("meta")?.session_id,
    text: texts.join(""),
    finishReason: dataOf("done")?.finish_reason,
    model: dataOf("done")?.model,
  };
}

describe("the README's commands", () => {
  it("get the key, chat, read the configuration, export the transcript and use the playground", async () => {
    const [key = "", chat = "", config = "", transcript = "", playground = ""] = readmeBlocks("The four endpoints");
    const quiet = (command: string) => command.replaceAll(/\bcurl /g, "curl -s ");
    const separator = "echo; echo =====\n";
    const requests = [chat, config, transcript, playground].map(quiet);
    const script = key + requests.join(separator);
    const [chatOut = "", configOut = "", transcriptOut = "", playgroundOut = ""] = (await run(script)).split("=====\n");
    for (const stream of [chatOut, playgroundOut]) {
      expect([...stream.matchAll(/^event: (\w+)$/gm)].map(([, event]) => event)).toEqual(
        expect.arrayContaining(["meta", "token", "done"]),
      );
    }
    const [, shownChat = ""] = /```\n(event: meta.*?)```/s.exec(readme) ?? [];
    expect(summarizeStream(chatOut)).toEqual(summarizeStream(shownChat));
    expect(summarizeStream(playgroundOut).text).toBe(
      "The mug can go into the dishwasher.\n\n— sample shop › Stoneware mug",
    );
    // The README shows exactly this response.
    expect(JSON.parse(configOut)).toEqual(JSON.parse(/```json\n(\{\s*"bot":.*?)```/s.exec(readme)?.[1] ?? ""));
    const shownTranscript = JSON.parse(/```json\n(\{\s*"session":.*?)```/s.exec(readme)?.[1] ?? "") as Transcript;
    const withoutNumbers = ({ session, messages }: Transcript) => ({
      id: session.id,
      messages: messages.map(({ role, content, status, model }) => ({ role, content, status, model })),
    });
    expect(withoutNumbers(JSON.parse(transcriptOut) as Transcript)).toEqual(withoutNumbers(shownTranscript));
  }, 120_000);

  it.each([
    ["What is Parley?", "Parley is a self-hosted chat widget service. Its widget answers the questions"],
    [
      "How do I add my own documents?",
      "To add your own documents, upload them on the console's screen Knowledge, or run this command:\n\n```\n./parley",
    ],
    [
      "How do I embed the widget?",
      'To embed the widget, create a key for your domain, then add this line to your pages with your key:\n\n```\n<script async src="http://',
    ],
    ["How many messages do I get?", "A workspace gets 100 messages a month on the plan free, 5,000 on pro"],
    ["What does Parley need PostgreSQL for?", "In PostgreSQL, Parley stores everything that must last"],
    ["How do I change the colour?", "To change the colour, the name, the logo or the first message, open the bot"],
    [
      "Can I talk to a person?",
      "Yes, you can talk to a person in the chat if the owner of the bot has switched it on.\n\n",
    ],
    [
      "Can visitors ask for a human?",
      "Yes, if you switch it on for the bot, visitors can ask for a person in the chat.\n\n— docs/faq.md",
    ],
    [
      "Can Parley read my website?",
      "Yes, Parley can read your whole website and refresh it regularly. To add it, click",
    ],
    [
      "Which models work?",
      "You can use the models of Anthropic, Amazon Bedrock, Gemini, Vertex AI and Mistral, and every",
    ],
    ["Was kostet der Versand?", "Der Versand kostet 4,90, ab 50,00 nichts.\n\n— Beispielladen"],
    ["Comment payer ?", "Vous pouvez payer par carte, par virement ou sur facture.\n\n— Boutique d'exemple"],
    ["What is the weather in Paris?", "Sorry, I don't know."],
  ])("the demo bot answers %j with one to three sentences", async (message, expected) => {
    const [key = "", chat = ""] = readmeBlocks("The four endpoints");
    const asked = chat
      .replace("What is the security boundary of a public key?", message)
      .replace("curl -N", "curl -sN");
    const { text } = summarizeStream(await run(key + asked));
    expect(text.slice(0, expected.length)).toBe(expected);
    expect(text.length).toBeLessThanOrEqual(400);
  });

  it("create a workspace, a bot with knowledge and a pattern, and a key", async () => {
    const [ownBot = ""] = readmeBlocks("Your own bot");
    const [key = ""] = readmeBlocks("Embed it");
    const output = await run(ownBot + key);
    expect(output).toContain("My shop");
    expect(output).toContain("README.md");
    expect(output).toMatch(/svc_pk_\w{32}/);
    expect(output).toContain("*.shop.example");
  }, 180_000);
});

it.runIf(isFullRun)(
  "docs/knowledge.md's commands add files and a page, list them and remove one",
  async () => {
    const output = await runPage("knowledge.md");
    for (const text of [
      "README.md",
      "docs/api.md",
      `localhost:${instance.shopPort}/delivery`,
      "english",
      "Removed docs/api.md.",
      "The model would look for the answer in the passages that are used.",
    ])
      expect(output).toContain(text);
  },
  180_000,
);

it.runIf(isFullRun)(
  "docs/faq.md's commands create a bot, change its looks and add a document",
  async () => {
    const output = await runPage("faq.md");
    expect(output).toMatch(/slug +guide\n/);
    expect(output).toMatch(/colour +#0F766E\n/);
    expect(output).toMatch(/README\.md/);
  },
  180_000,
);

it.runIf(isFullRun)(
  "docs/tools.md's commands give a bot tools, list them and remove them",
  async () => {
    const output = await runPage("tools.md");
    for (const text of [
      "shop_page",
      `localhost:${instance.shopPort}/{page}`,
      "OFFERED",
      "Removed shop_page.",
      "MCP",
      "Removed docs.",
    ])
      expect(output).toContain(text);
  },
  180_000,
);

it.runIf(isFullRun)(
  "docs/moderation.md's commands add patterns for messages and replies, and list them",
  async () => {
    const output = await runPage("moderation.md");
    for (const text of ["payment", "message", "confidential", "reply", "project (alpha|omega)"])
      expect(output).toContain(text);
  },
  180_000,
);

it.runIf(isFullRun)(
  "docs/providers.md's commands list the providers, check them and list the calls",
  async () => {
    const [key = "", chat = ""] = readmeBlocks("The four endpoints");
    await run(key + chat);
    const output = await runPage("providers.md");
    for (const text of ["builtin:extractive", "ok", "OUTCOME", "complete"]) expect(output).toContain(text);
  },
  180_000,
);

it.runIf(isFullRun)(
  "docs/retries.md's commands send a message with an idempotency key, continue its reply and stop it",
  async () => {
    const output = await runPage("retries.md");
    const id = /^id: (\d+)-0$/m.exec(output)?.[1];
    expect(output.match(new RegExp(`^id: ${id}-\\d+\nevent: done$`, "gm"))).toHaveLength(2);
    expect(output).toMatch(/\{"status":"done"\}$/);
  },
  60_000,
);

it.runIf(isFullRun)(
  "docs/retries.md's function returns the complete reply without repeated text when its connections are cut",
  async () => {
    const page = await readFile(join(root, "docs/retries.md"), "utf8");
    const [, code = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    const [key = ""] = readmeBlocks("The four endpoints");
    const publicKey = (await run(`${key}echo $KEY`)).trim();
    const body = { public_key: publicKey, session_id: crypto.randomUUID(), message: "Is the public key secret?" };
    // Cuts the first four connections, each 70 bytes later than the previous one.
    let cuts = 0;
    const cutFetch = async (url: string, init: RequestInit) => {
      const headers = new Headers(init.headers);
      headers.set("origin", `http://localhost:${instance.shopPort}`);
      const response = await fetch(url, { ...init, headers });
      if (cuts === 4) return response;
      let bytesUntilCut = 100 + 70 * cuts++;
      const cutStream = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.subarray(0, bytesUntilCut));
          bytesUntilCut -= chunk.length;
          if (bytesUntilCut <= 0) controller.error(new Error("cut"));
        },
      });
      return new Response(response.body?.pipeThrough(cutStream), response);
    };
    const define = new Function("fetch", `${code}; return readReply;`);
    const readReply = define(cutFetch) as (...args: unknown[]) => Promise<{ text: string; finish_reason: string }>;
    const url = `http://localhost:${instance.port}/api/chat/`;
    const [messageKey, otherKey] = [crypto.randomUUID(), crypto.randomUUID()];
    const reply = await readReply(url, body, messageKey);
    expect(cuts).toBe(4);
    expect(reply.finish_reason).toBe("stop");
    expect(await readReply(url, body, messageKey)).toMatchObject({ text: reply.text });
    expect(await readReply(url, { ...body, session_id: crypto.randomUUID() }, otherKey)).toMatchObject({
      text: reply.text,
    });
  },
  60_000,
);

it("Parley started with DATABASE_URL uses that database, starts no embedded one, and does not stop the database's server", async () => {
  expect(parley.stdout()).toMatch(new RegExp(`database +PostgreSQL \\S+ at 127\\.0\\.0\\.1:\\d+/${database.name} `));
  expect(await portsInUse(instance)).not.toContain(instance.databasePort);
  expect(await parley.stop("SIGINT", 30_000)).toEqual({ code: 0, signal: null });
  await expect(access(join(instance.dataDir, "postgres"))).rejects.toThrow("ENOENT");
  await database.drop();
}, 60_000);

it("the README's pictures exist, have alternative texts and are at most 1 MiB", async () => {
  const pictures = [...readme.matchAll(/!\[([^\]]*)\]\(([^)]+\.png)\)|<img src="([^"]+)"[^>]* alt="([^"]*)"/g)];
  expect(pictures.length).toBeGreaterThanOrEqual(7);
  for (const [, alt, path, imagePath, imageAlt] of pictures) {
    const file = path ?? imagePath ?? "";
    expect((alt ?? imageAlt)?.length, file).toBeGreaterThan(20);
    expect((await stat(join(root, file))).size, file).toBeLessThanOrEqual(1024 * 1024);
  }
});

it("the README contains the test command once, in the form that .ci/run searches for", async () => {
  expect(readme.match(/^npx --yes pnpm@\d+ test$/gm)).toHaveLength(1);
});
