import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";

// Compares docs/install/sizing.md with the latest benchmark results and the chart's defaults.

const root = new URL("../", import.meta.url);
const read = (path: string) => readFile(new URL(path, root), "utf8");

type Service = "edge" | "conversation" | "quota" | "llm-proxy";
const SERVICES: Service[] = ["edge", "conversation", "quota", "llm-proxy"];
/** The CPU utilization at which an autoscaler adds a pod. */
const TARGET_UTILIZATION = 0.7;
/** Factor by which the figures of two benchmark runs on one machine may differ. */
const NOISE = 1.15;

type Figure = { what: string; value: number; detail: string };

const page = await read("docs/install/sizing.md");
const files = (await readdir(new URL("bench/results/", root))).filter((name) => name.endsWith(".json")).toSorted();
const runs = await Promise.all(
  files.map(async (name) => JSON.parse(await read(`bench/results/${name}`)) as { results: Record<string, Figure[]> }),
);
/** Each benchmark's figures from the newest file that has them. A file has only the benchmarks of one day. */
const results: Record<string, Figure[]> = Object.assign({}, ...runs.map((run) => run.results));
const values = parse(await read("charts/parley/values.yaml")) as Record<string, Component>;
type Component = {
  replicas: number;
  databasePool: number;
  maxStreams: number;
  resources: { requests: { cpu: string; memory: string }; limits: { memory: string } };
};

/** Returns the cells of the table rows whose first cell matches `first`. */
function findRows(first: RegExp): string[][] {
  const tables = page.split("\n").filter((line) => line.startsWith("|"));
  return tables
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([cell = ""]) => first.test(cell));
}

/** Returns the number in the second cell of the first row whose first cell matches the regular expression `label`. */
function readDocumented(label: string): number {
  const [row] = findRows(new RegExp(`^${label}$`));
  return Number(/[\d.]+/.exec(row?.[1] ?? "")?.[0]);
}

function findFigure(benchmark: string, what: RegExp): Figure {
  const figure = results[benchmark]?.find((each) => what.test(each.what));
  if (figure === undefined) throw new Error(`the benchmark results of ${benchmark} have no ${what}`);
  return figure;
}

const component = (service: Service) => values[service === "llm-proxy" ? "llmProxy" : service] as Component;
const parseCores = (cpu: string) => (cpu.endsWith("m") ? Number(cpu.slice(0, -1)) / 1_000 : Number(cpu));

function cpuMsPerTurn(service: Service): number {
  const { detail } = findFigure("turn-cost", /^paced/);
  return Number(new RegExp(`${service} ([\\d.]+)`).exec(detail)?.[1]);
}

test.each<[string, number]>([
  ...SERVICES.map((service): [string, number] => [`CPU of (an )?${service}`, cpuMsPerTurn(service)]),
  ["CPU of PostgreSQL", findFigure("footprint", /CPU of PostgreSQL/).value],
  ["stored", findFigure("footprint", /stored/).value],
  ["write-ahead log", findFigure("footprint", /log/).value],
  ["CPU of Redis", findFigure("footprint", /CPU of Redis/).value],
  ["memory of Redis", findFigure("footprint", /memory (of Redis per|an) address/).value],
])("the page's value of '%s' is at least the measured value", (what, value) => {
  expect(value).toBeGreaterThan(0);
  expect(readDocumented(what)).toBeGreaterThan(value / NOISE);
});

test.each([
  ["turns a second of one workspace, reserved and settled", "reserve", /one hot workspace/, /by RPC (\d+)/],
  ["turns a second of 1,000 workspaces on one database", "reserve", /1,000 workspaces/, /by RPC (\d+)/],
  ["open streams of one edge", "held", /tokens lost/, /^(\d+) streams/],
] as const)("the page's ceiling of %s is not above the measured one", (label, benchmark, what, pattern) => {
  const ceiling = Number(findRows(new RegExp(`^${label}$`))[0]?.[1]?.replaceAll(",", ""));
  expect(ceiling).toBeGreaterThan(0);
  expect(ceiling).toBeLessThanOrEqual(Number(pattern.exec(findFigure(benchmark, what).detail)?.[1]) * NOISE);
});

test("the ceiling of one core of PostgreSQL is not above 1 s ÷ PostgreSQL's CPU time per turn", () => {
  const ceiling = Number(findRows(/^turns a second of one core of PostgreSQL/)[0]?.[1]);
  expect(ceiling).toBeGreaterThan(0);
  expect(ceiling).toBeLessThanOrEqual(1_000 / readDocumented("CPU of PostgreSQL"));
});

const sizes = findRows(/^\d+$/).map(([turns, ...cells]) => ({ turns: Number(turns), cells }));

test("the table has rows for 1, 10 and 100 turns a second", () => {
  expect(sizes.map(({ turns }) => turns)).toEqual([1, 10, 100]);
});

/** Replies of 300 tokens cost the services that handle tokens this many times the CPU time of the bench's 100 tokens: a quarter is for other work. */
const COST_OF_300_TOKENS = 2.5;

/** Returns the ms of CPU time of a turn with a reply of 300 tokens: with few streams as the page says, with many from the bench. */
function cpuMsOf300Tokens(service: Service, turns: number): number {
  const handlesTokens = service === "edge" || service === "llm-proxy";
  if (turns > 10) return (cpuMsPerTurn(service) * (handlesTokens ? COST_OF_300_TOKENS : 1)) / NOISE;
  return Number(findRows(new RegExp(`^\`${service}\`$`))[0]?.[3]);
}

test.each(sizes)(
  "the table's replicas handle $turns turns a second with one replica of each service down",
  ({ turns, cells }) => {
    for (const [i, service] of SERVICES.entries()) {
      const [, replicas, cpu = ""] = /^(\d+) × (\S+)$/.exec(cells[i] ?? "") ?? [];
      expect(cpu, service).toBe(component(service).resources.requests.cpu);
      const needed = (turns * cpuMsOf300Tokens(service, turns)) / 1_000;
      expect(needed, service).toBeGreaterThan(0);
      expect((Number(replicas) - 1) * TARGET_UTILIZATION * parseCores(cpu), service).toBeGreaterThan(needed);
    }
  },
);

test("the row for 1 turn a second has the chart's default replicas and CPU requests", () => {
  expect(sizes[0]?.cells.slice(0, 4)).toEqual(
    SERVICES.map((service) => `${component(service).replicas} × ${component(service).resources.requests.cpu}`),
  );
});

test("the page states the sums of the database pools of all replicas during a rollout", () => {
  const pools = (["conversation", "quota", "llm-proxy"] as const).map((service) => component(service));
  const total = (replicas: readonly number[]) =>
    pools.reduce((sum, { databasePool }, index) => {
      const count = Number(replicas[index]);
      // A rollout adds a quarter of the replicas.
      return sum + databasePool * (count + Math.ceil(count / 4));
    }, 0);
  expect(page).toContain(`That is ${total(pools.map(({ replicas }) => replicas))} with two replicas each`);
  const largest =
    sizes
      .at(-1)
      ?.cells.slice(1, 4)
      .map((cell) => Number.parseInt(cell, 10)) ?? [];
  expect(page).toContain(`and ${total(largest)} with the replicas in the last row`);
});

test("memory requests cover a warm service, and the edge's memory limit covers maxStreams open streams", () => {
  const { detail } = findFigure("footprint", /resident memory/);
  for (const service of SERVICES) {
    const [row] = findRows(new RegExp(`^${service}$`));
    const { requests, limits } = component(service).resources;
    expect(row?.slice(2), service).toEqual([requests.memory, limits.memory]);
    const warm = Number.parseInt(row?.[1] ?? "", 10);
    expect(warm, service).toBeGreaterThan(Number(new RegExp(`${service} (\\d+)`).exec(detail)?.[1]) / NOISE);
    expect(Number.parseInt(requests.memory, 10), service).toBeGreaterThanOrEqual(warm);
  }
  const { maxStreams, resources } = component("edge");
  const [[, warm = ""] = []] = findRows(/^edge$/);
  const fullMib = Number.parseInt(warm, 10) + (maxStreams * readDocumented("memory of an edge")) / 1_024;
  expect(fullMib).toBeLessThan(Number.parseInt(resources.limits.memory, 10));
});
