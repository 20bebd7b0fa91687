import { pbkdf2Sync, randomUUID } from "node:crypto";
import { postChat } from "../../../tests/system/chat.ts";
import { newClientAddress } from "../../../tests/system/visitors.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, type Benchmark } from "./benchmark.ts";

const SOLUTIONS = 100;
const MIN_CPU_MS = 2;

type Challenge = { parameters: { nonce: string; salt: string; cost: number; keyPrefix: string } };

/** Measures what challenges cost a program that solves them and sends all messages of each pass. */
export const challenge: Benchmark = {
  name: "challenge",
  description: "CPU, and messages a minute, of a program that solves the challenges of a key",
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
      const messagesPerMinute = 60_000 / cpuMsPerMessage;
      const detail = `median of ${count}; ${Math.round(messagesPerMinute)} messages a minute on a core`;
      return [atLeast(MIN_CPU_MS, { what: "CPU per message", value: cpuMsPerMessage, unit: "ms", detail })];
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
