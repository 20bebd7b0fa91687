import { queryRows } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliJson } from "./system/cli.ts";
import { databaseOf } from "./system/database.ts";
import { joinSharedSystem, type SharedSystem } from "./system/shared-system.ts";
import { createTenant, type Tenant } from "./system/system.ts";

const BAKERY = `# Opening hours

The bakery opens at seven in the morning and closes at six in the evening.

# Delivery

We deliver bread within ten kilometres for 4 euros.

# Allergies

The rye bread contains no nuts. The carrot cake contains walnuts.

# Parking

Three free parking spaces are behind the bakery.
`;

const SMALL_TALK = ["Hello!", "Guten Morgen", "thanks", "Merci beaucoup !", "ok", "bye", "Are you a human?", "谢谢"];
const GIBBERISH = ["asdfgh", "???", "hahaha", "qwerty", "...", "xxxxxx"];
const ANSWERED = [
  "When does the bakery open?",
  "Do you deliver bread?",
  "How much does delivery cost?",
  "Does the carrot cake contain walnuts?",
  "Where is parking?",
  "Does the rye bread contain nuts?",
];
/** Passages are found, but do not contain the answer. */
const DECLINED = ["How old is the baker's bread oven in Vienna?", "Which bread won the championship?"];
const NOT_FOUND = [
  "Is there wifi?",
  "Do you sell bicycles?",
  "Can I pay by card?",
  "Who is the owner?",
  "Is there a playground?",
];
const RATED_DOWN = ["Is the parking free?", "When does the bakery close?", "Do you deliver within ten kilometres?"];

let system: SharedSystem;
let tenant: Tenant;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
  tenant = await createTenant(system.admin, { model: "builtin:extractive" });
  const { workspaceId, botSlug } = tenant;
  await system.admin.knowledge.addSource({
    workspaceId,
    botSlug,
    name: "bakery.md",
    format: "md",
    content: Buffer.from(BAKERY),
  });
});
afterAll(() => system?.stop());

type Listed = { example: string; count: number; ungrounded: number; declined: number; rated_down: number };

function callKnowledge<T>(...args: string[]): Promise<T> {
  const bot = ["--workspace", tenant.workspaceId, "--bot", tenant.botSlug];
  return runCliJson(["knowledge", ...args, ...bot], cliEnv(system));
}

/** Waits until the service has counted `replies`, and returns the sums of all days. */
async function readStatistics(replies: number): Promise<{ grounded: number; ungrounded: number }> {
  const read = async () => {
    // The task runs every minute. The UPDATE makes its next run due.
    await queryRows(
      databaseOf(system, tenant.workspaceId).url,
      "UPDATE conversation.task_leases SET due_at = now() WHERE task = 'count_replies'",
    );
    const { days } = await system.admin.turns.getStatistics({ workspaceId: tenant.workspaceId });
    const sum = (field: "replies" | "grounded" | "ungrounded") => days.reduce((total, day) => total + day[field], 0);
    return { replies: sum("replies"), grounded: sum("grounded"), ungrounded: sum("ungrounded") };
  };
  await expect.poll(async () => (await read()).replies, { timeout: 90_000, interval: 500 }).toBe(replies);
  return read();
}

test("of 30 messages, the list of unanswered questions, the overview's figures, the search and the replies agree", async () => {
  const declined: string[] = [];
  const messages = [...SMALL_TALK, ...GIBBERISH, ...ANSWERED, ...DECLINED, ...NOT_FOUND, ...RATED_DOWN];
  expect(messages).toHaveLength(30);
  for (const message of messages) {
    const { text, meta, done } = await chat(system.url(), tenant, { message });
    expect(done?.finish_reason).toBe("stop");
    if (text.startsWith("Sorry, I don't know.")) declined.push(message);
    if (!RATED_DOWN.includes(message)) continue;
    const rated = await fetch(`${system.url()}/api/chat/rating/`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: tenant.origin },
      body: JSON.stringify({ public_key: tenant.publicKey, ...meta, rating: "down" }),
    });
    expect(rated.status).toBe(204);
  }
  expect(declined.filter((message) => ![...GIBBERISH, ...SMALL_TALK].includes(message))).toEqual([
    ...DECLINED,
    ...NOT_FOUND,
  ]);

  const { questions: listed } = await callKnowledge<{ questions: Listed[] }>("unanswered");
  expect(listed.map(({ example }) => example).sort()).toEqual([...DECLINED, ...NOT_FOUND, ...RATED_DOWN].sort());
  for (const { example, count, ungrounded, declined: declines, rated_down } of listed) {
    const isFound = !NOT_FOUND.includes(example);
    const { grounded = false } = await callKnowledge<{ grounded?: boolean }>("try", example);
    expect({ example, count, grounded, ungrounded, declines, rated_down }).toEqual({
      ...{ example, count: 1, grounded: isFound, ungrounded: isFound ? 0 : 1 },
      declines: RATED_DOWN.includes(example) ? 0 : 1,
      rated_down: RATED_DOWN.includes(example) ? 1 : 0,
    });
  }
  expect(await readStatistics(30)).toMatchObject({
    grounded: ANSWERED.length + RATED_DOWN.length,
    ungrounded: DECLINED.length + NOT_FOUND.length,
  });
}, 180_000);
