import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RunningProcess } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "./system/processes.ts";
import { makePlace, type Place, startReady } from "./system/local-start.ts";

const readme = await readFile(join(root, "README.md"), "utf8");

let place: Place;
let parley: RunningProcess;
beforeAll(async () => {
  place = await makePlace();
  // As docs/knowledge.md says, so that a page of the sample shop can be fetched.
  parley = await startReady(place, { EGRESS_ALLOW: "127.0.0.1/32" });
}, 180_000);
afterAll(async () => {
  await parley.stop("SIGINT", 60_000);
  await place.remove();
}, 90_000);

/** The shell blocks of a page of docs/, one after the other. */
async function blocksOf(page: string): Promise<string[]> {
  const text = await readFile(join(root, "docs", page), "utf8");
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

/** The shell blocks under a heading, one after the other. */
function blocksUnder(heading: string): string[] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

/** Runs blocks of the README or of docs/ as they are, but for this test's ports. */
async function run(script: string): Promise<string> {
  const here = script
    .replaceAll("localhost:8080", `localhost:${place.port}`)
    .replaceAll("localhost:8089", `localhost:${place.port + 9}`);
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", here], {
    cwd: root,
    env: { ...process.env, ...place.env },
    timeout: 90_000,
  });
  return stdout;
}

describe("the README's commands, run one after the other as they stand", () => {
  it("get the key, chat, read the configuration, export the transcript and use the playground", async () => {
    const [key = "", chat = "", config = "", transcript = "", playground = ""] = blocksUnder("The four endpoints");
    const quiet = (command: string) => command.replaceAll(/\bcurl /g, "curl -s ");
    const mark = "echo; echo =====\n";
    const script = [key, quiet(chat), mark, quiet(config), mark, quiet(transcript), mark, quiet(playground)].join("");
    const [chatOut = "", configOut = "", transcriptOut = "", playgroundOut = ""] = (await run(script)).split("=====\n");
    for (const stream of [chatOut, playgroundOut]) {
      expect([...stream.matchAll(/^event: (\w+)$/gm)].map(([, event]) => event)).toEqual(
        expect.arrayContaining(["meta", "token", "done"]),
      );
    }
    expect(chatOut).toContain('"finish_reason":"stop"');
    // As it is shown, word for word.
    expect(JSON.parse(configOut)).toEqual(JSON.parse(/```json\n(\{\s*"bot":.*?)```/s.exec(readme)?.[1] ?? ""));
    expect(JSON.parse(transcriptOut)).toMatchObject({
      session: { id: "2f1c1d5e-8a31-4c0c-9f7e-0c8a6f6a9b11" },
      messages: [{ role: "user" }, { role: "assistant", status: "done" }],
    });
  }, 120_000);

  it("make a workspace, a bot with knowledge and a pattern, and a key", async () => {
    const [own = ""] = blocksUnder("Your own bot");
    const [key = ""] = blocksUnder("Embed it");
    const output = await run(own + key);
    expect(output).toContain("My shop");
    expect(output).toContain("README.md");
    expect(output).toMatch(/svc_pk_\w{32}/);
    expect(output).toContain("*.shop.example");
  }, 180_000);
});

it("docs/knowledge.md's commands add files and a page, list them and remove one", async () => {
  const output = await run((await blocksOf("knowledge.md")).join(""));
  for (const shown of [
    "README.md",
    "docs/api.md",
    `localhost:${place.port + 9}/delivery`,
    "english",
    "Removed docs/api.md.",
  ])
    expect(output).toContain(shown);
}, 180_000);

it("docs/tools.md's commands give a bot tools, list them and take them away", async () => {
  const output = await run((await blocksOf("tools.md")).join(""));
  for (const shown of ["shop_page", `localhost:${place.port + 9}/{page}`, "Removed shop_page.", "MCP", "Removed docs."])
    expect(output).toContain(shown);
}, 180_000);

it("docs/moderation.md's commands add patterns for messages and replies, and list them", async () => {
  const output = await run((await blocksOf("moderation.md")).join(""));
  for (const shown of ["payment", "message", "confidential", "reply", "project (alpha|omega)"])
    expect(output).toContain(shown);
}, 180_000);

it("docs/providers.md's commands list the providers, ask them, and list what was called", async () => {
  const [key = "", chat = ""] = blocksUnder("The four endpoints");
  await run(key + chat);
  const output = await run((await blocksOf("providers.md")).join(""));
  for (const shown of ["builtin:extractive", "ok", "OUTCOME", "complete"]) expect(output).toContain(shown);
}, 180_000);

it("the README's pictures are there, are told in words, and load fast", async () => {
  const pictures = [...readme.matchAll(/!\[([^\]]*)\]\(([^)]+\.png)\)|<img src="([^"]+)"[^>]* alt="([^"]*)"/g)];
  expect(pictures.length).toBeGreaterThanOrEqual(7);
  for (const [, alt, path, imagePath, imageAlt] of pictures) {
    const file = path ?? imagePath ?? "";
    expect((alt ?? imageAlt)?.length, file).toBeGreaterThan(20);
    expect((await stat(join(root, file))).size, file).toBeLessThanOrEqual(1024 * 1024);
  }
});

it("the test command of the README is the one that .ci/run looks for", async () => {
  expect(readme.match(/^npx --yes pnpm@\d+ test$/gm)).toHaveLength(1);
});
