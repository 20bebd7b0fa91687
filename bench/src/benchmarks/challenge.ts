import { pbkdf2Sync, randomUUID } from "node:crypto";
import { chromiumCommand, headlessChromiumCommand } from "@parley/test-support";
import { chromium } from "playwright-core";
import { bundleApp } from "../../../tests/browser/bundle.ts";
import { postChat } from "../../../tests/system/chat.ts";
import { newClientAddress } from "../../../tests/system/visitors.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, atMost, type Benchmark } from "./benchmark.ts";

const SOLUTIONS = 100;
const THROTTLING = 6;
const MIN_CPU_MS = 2;
const MAX_SOLVING_MS = 600;

type Challenge = { parameters: { nonce: string; salt: string; cost: number; keyPrefix: string } };
type Solve = (challenge: Challenge, signal: AbortSignal) => Promise<unknown>;

/** Measures what a challenge costs a program, which sends all messages of each pass, and a visitor with a slow device. */
export const challenge: Benchmark = {
  name: "challenge",
  description:
    "challenges: CPU and messages a minute of a program that solves them; time in a browser at a sixth of its speed",
  hintIfMissed: "the work of a challenge was changed in the edge's challenges.ts",
  async run({ scale }, progress) {
    const testbed = await startTestbed("tokens-5");
    try {
      await testbed.system.admin.keys.updateKey({ publicKey: testbed.tenant.publicKey, challenge: "always" });
      const count = Math.ceil(SOLUTIONS * scale);
      const cpuMs: number[] = [];
      let messagesOfPass = 0;
      for (let i = 0; i < count; i++) {
        const bought = await buyPass(testbed);
        cpuMs.push(bought.cpuMs);
        messagesOfPass = bought.messages;
      }
      const cpuMsPerMessage = median(cpuMs) / messagesOfPass;
      progress(`${count} passes: ${median(cpuMs).toFixed(0)} ms of CPU for ${messagesOfPass} messages`);
      const timesMs = await measureInBrowser(testbed, count);
      const messagesPerMinute = 60_000 / cpuMsPerMessage;
      const detail = `median of ${count}; ${Math.round(messagesPerMinute)} messages a minute on a core`;
      const browserDetail = `median of ${count}; Chromium slows the page's thread sixfold, not the threads that derive keys`;
      return [
        atLeast(MIN_CPU_MS, { what: "CPU of a program per message", value: cpuMsPerMessage, unit: "ms", detail }),
        atMost(MAX_SOLVING_MS, {
          what: "time in a browser",
          value: median(timesMs),
          unit: "ms",
          detail: browserDetail,
        }),
      ];
    } finally {
      await testbed.stop();
    }
  },
};

/** Solves a challenge, buys a pass and sends a message with it. Returns the CPU time of the solution. */
async function buyPass(testbed: Testbed): Promise<{ cpuMs: number; messages: number }> {
  const visitor = { session_id: randomUUID(), address: newClientAddress() };
  const asked = await getChallenge(testbed, visitor);
  const before = process.cpuUsage();
  const solution = solve(asked);
  const { user, system } = process.cpuUsage(before);
  const text = Buffer.from(JSON.stringify({ challenge: asked, solution })).toString("base64");
  const { tenant } = testbed;
  const response = await fetch(`${testbed.system.url()}/api/chat/challenge/`, {
    method: "POST",
    headers: { origin: tenant.origin, "x-forwarded-for": visitor.address },
    body: JSON.stringify({ public_key: tenant.publicKey, session_id: visitor.session_id, solution: text }),
  });
  const pass = (await response.json()) as { challenge_pass: string; messages: number };
  const sent = await send(testbed, visitor, { challenge_pass: pass.challenge_pass });
  if (sent.status !== 200) throw new Error(`the pass was refused: ${response.status}, ${sent.status}`);
  await sent.text();
  return { cpuMs: (user + system) / 1_000, messages: pass.messages };
}

/** Tries one counter after the other, as every solver has to. */
function solve({ parameters: { nonce, salt, cost, keyPrefix } }: Challenge): { counter: number; derivedKey: string } {
  for (let counter = 0; ; counter++) {
    const password = Buffer.from(nonce + counter.toString(16).padStart(8, "0"), "hex");
    const derivedKey = pbkdf2Sync(password, Buffer.from(salt, "hex"), cost, 32, "sha256").toString("hex");
    if (derivedKey.startsWith(keyPrefix)) return { counter, derivedKey };
  }
}

async function getChallenge(testbed: Testbed, visitor: { session_id: string; address: string }): Promise<Challenge> {
  const body = (await (await send(testbed, visitor)).json()) as { challenge: Challenge };
  return body.challenge;
}

function send(
  { system, tenant }: Testbed,
  { session_id, address }: { session_id: string; address: string },
  fields: object = {},
): Promise<Response> {
  return postChat(system.url(), tenant, { session_id, ...fields }, { headers: { "x-forwarded-for": address } });
}

/** Solves challenges with the widget's code in a page whose thread Chromium slows down. Returns the times. */
async function measureInBrowser(testbed: Testbed, count: number): Promise<number[]> {
  const executablePath = headlessChromiumCommand() ?? chromiumCommand();
  if (executablePath === undefined) throw new Error("chromium is not on the PATH");
  const solver = 'import { solve } from "../../packages/widget/src/gate/challenge.ts"; globalThis.solve = solve;';
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.addInitScript({ content: await bundleApp({ "solver.js": solver }) });
    // Any page of the service: crypto.subtle needs a page that counts as secure.
    await page.goto(`${testbed.system.url()}/healthz/live`);
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: THROTTLING });
    const timesMs: number[] = [];
    for (let i = 0; i < count; i++) {
      const asked = await getChallenge(testbed, { session_id: randomUUID(), address: newClientAddress() });
      timesMs.push(
        await page.evaluate(async (given) => {
          const startedAt = performance.now();
          await (globalThis as unknown as { solve: Solve }).solve(given, new AbortController().signal);
          return performance.now() - startedAt;
        }, asked),
      );
    }
    return timesMs;
  } finally {
    await browser.close();
  }
}
