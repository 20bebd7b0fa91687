import { setTimeout as sleep } from "node:timers/promises";
import { queryRows, startWebhookReceiver, type WebhookReceiver } from "@parley/test-support";
import { createTenant, type Tenant } from "../../../tests/system/system.ts";
import { measurePairs } from "../support/alternate.ts";
import { cpuMs, residentBytes } from "../support/cpu.ts";
import { type LoadShape, parleyLoad, startLoad } from "../support/load.ts";
import { median, medianInterval, sum } from "../support/statistics.ts";
import { BENCH_PLAN, startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

const PAIRS = 24;
const VARIANTS = [
  { name: "paced at 50 ms", model: "tokens-100-every-50", goal: 1.05, callers: 200, turns: 400, initialTurns: 1_000 },
  // Ten times the turns of a second that the paced variant has.
  { name: "unpaced", model: "tokens-100", goal: 1.25, callers: 16, turns: 600, initialTurns: 3_000 },
];
/** The most events that an endpoint's queue holds. */
const WAITING_EVENTS = 100_000;
const LATENCY_PAIRS = 12;
const LATENCY_SHAPE = { callers: 16, turns: 400, warmUpTurns: 50 };
const MAX_LATENCY_RATIO = 1.1;
const MAX_MEMORY_RATIO = 1.1;

/** Compares a workspace that has a webhook for each completed message with one that has none, and with one whose receiver never answers. */
export const webhook: Benchmark = {
  name: "webhook",
  description:
    "CPU of the four services for a turn with a delivered webhook ÷ without one; p99 of the first token, and memory, while 100,000 events wait for a dead receiver",
  hintIfMissed: "each event is recorded, copied to the endpoint's queue, claimed and marked: four statements more",
  async run(runOptions, progress) {
    const receiver = await startWebhookReceiver();
    // The receiver's own cost is not measured.
    receiver.received.push = () => 0;
    try {
      const figures: Figure[] = [];
      for (const variant of VARIANTS) figures.push(await measureCost(variant, receiver, runOptions, progress));
      return [...figures, ...(await measureDeadReceiver(receiver, runOptions, progress))];
    } finally {
      await receiver.close();
    }
  },
};

type Scene = { testbed: Testbed; withWebhook: Tenant; without: Tenant; endpointId: string };

/** Starts a testbed in which one of two workspaces has a webhook. */
async function startScene(model: string, receiver: WebhookReceiver): Promise<Scene> {
  const testbed = await startTestbed(model, { env: { conversation: { EGRESS_ALLOW: "127.0.0.1/32" } } });
  const { admin } = testbed.system;
  const withWebhook = await createTenant(admin, { plan: BENCH_PLAN, model: `openai:${model}` });
  const changes = { url: receiver.url, types: { values: ["message.completed"] } };
  const { endpoint, secret } = await admin.webhooks.createEndpoint({ workspaceId: withWebhook.workspaceId, changes });
  receiver.secrets.splice(0, receiver.secrets.length, secret);
  return { testbed, withWebhook, without: testbed.tenant, endpointId: endpoint?.id ?? "" };
}

type Variant = (typeof VARIANTS)[number];

async function measureCost(
  { name, model, goal, callers, turns, initialTurns }: Variant,
  receiver: WebhookReceiver,
  { scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure> {
  const { testbed, withWebhook, without } = await startScene(model, receiver);
  try {
    const shape = { callers, turns: Math.ceil(turns * scale), warmUpTurns: Math.ceil(callers * scale) };
    const measure = (tenant: Tenant, ofShape = shape) => measureUntilDelivered({ ...testbed, tenant }, ofShape);
    for (const tenant of [withWebhook, without])
      await measure(tenant, { ...shape, turns: Math.ceil(initialTurns * scale) });
    const ratios = await measurePairs(
      Math.ceil(PAIRS * scale),
      { measured: () => measure(withWebhook), basis: () => measure(without) },
      (line) => progress(`${name}, ${line}`),
    );
    return atMost(goal, {
      what: `CPU with a webhook, ${name}`,
      value: median(ratios),
      unit: "×",
      detail: describe(ratios),
    });
  } finally {
    await testbed.stop();
  }
}

function describe(ratios: readonly number[]): string {
  const [low, high] = medianInterval(ratios);
  return `${ratios.length} pairs; 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
}

/** Returns the CPU time of a turn, until the events of all turns have been delivered. */
async function measureUntilDelivered(testbed: Testbed, shape: LoadShape): Promise<number> {
  const pids = testbed.servicePids();
  const load = startLoad(parleyLoad(testbed, shape));
  await load.ready;
  await waitUntilDelivered(testbed);
  const before = sum(pids.map(cpuMs));
  const { turns } = await load.run();
  await waitUntilDelivered(testbed);
  return (sum(pids.map(cpuMs)) - before) / turns;
}

const COUNT_LEFT = `
  SELECT (SELECT count(*) FROM conversation.events WHERE workspace_id = $1)
       + (SELECT count(*) FROM conversation.webhook_deliveries WHERE workspace_id = $1 AND status = 'pending') AS left`;

async function waitUntilDelivered({ system, tenant }: Testbed): Promise<void> {
  for (let attempts = 0; attempts < 600; attempts++) {
    const [row] = await queryRows<{ left: string }>(system.database.url, COUNT_LEFT, [tenant.workspaceId]);
    if (Number(row?.left) === 0) return;
    await sleep(100);
  }
  throw new Error("the events were not delivered within a minute");
}

const ADD_WAITING = `
  INSERT INTO conversation.webhook_deliveries (workspace_id, endpoint_id, sequence, event_id, type, occurred_at, data, next_attempt_at)
  SELECT $1, $2, 1000000 + n, gen_random_uuid(), 'message.completed', now(), '{}', now() FROM generate_series(1, $3::integer) AS n`;

async function measureDeadReceiver(
  receiver: WebhookReceiver,
  { scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const { testbed, withWebhook, without, endpointId } = await startScene("tokens-100", receiver);
  try {
    receiver.respond = () => undefined;
    const shape = { ...LATENCY_SHAPE, turns: Math.ceil(LATENCY_SHAPE.turns * scale) };
    const measureP99 = async (tenant: Tenant) => {
      const load = startLoad(parleyLoad({ ...testbed, tenant }, shape));
      await load.ready;
      return (await load.run()).firstTokenMs.p99;
    };
    // As many turns as are measured, so that the process has the memory that it needs for them.
    for (let pair = 0; pair < Math.ceil(LATENCY_PAIRS * scale); pair++)
      for (const tenant of [without, withWebhook]) await measureP99(tenant);
    const conversation = testbed.system.conversation.process().pid;
    const bytesBefore = residentBytes(conversation);
    const waiting = Math.ceil(WAITING_EVENTS * scale);
    await queryRows(testbed.system.database.url, ADD_WAITING, [withWebhook.workspaceId, endpointId, waiting]);
    await queryRows(testbed.system.database.url, "ANALYZE conversation.webhook_deliveries");
    const ratios = await measurePairs(
      Math.ceil(LATENCY_PAIRS * scale),
      { measured: () => measureP99(withWebhook), basis: () => measureP99(without) },
      (line) => progress(`${waiting} events wait, p99 of the first token, ${line}`),
    );
    const bytesAfter = residentBytes(conversation);
    const memory = `${Math.round(bytesBefore / 2 ** 20)} MiB before, ${Math.round(bytesAfter / 2 ** 20)} MiB after ${ratios.length} pairs`;
    return [
      atMost(MAX_LATENCY_RATIO, {
        ...{ what: "p99 of the first token with a dead receiver", value: median(ratios), unit: "×" },
        detail: describe(ratios),
      }),
      atMost(MAX_MEMORY_RATIO, {
        ...{ what: "memory of conversation with a dead receiver", value: bytesAfter / bytesBefore, unit: "×" },
        detail: memory,
      }),
    ];
  } finally {
    await testbed.stop();
  }
}
