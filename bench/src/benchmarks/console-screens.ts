import { chromiumCommand, headlessChromiumCommand, queryRows } from "@parley/test-support";
import { chromium, type Page } from "playwright-core";
import { CONSOLE_WORKSPACE, startConsole } from "../../../tests/system/console.ts";
import { BOT, type OwnersTestbed } from "../support/owners-testbed.ts";
import { percentile } from "../support/statistics.ts";
import type { Testbed } from "../support/testbed.ts";
import { atMost, type Figure, type RunOptions } from "./benchmark.ts";

const screensOf = (sessionId: string) => [
  "/bots",
  `/bots/${BOT}`,
  `/knowledge?bot=${BOT}`,
  `/knowledge?bot=${BOT}&question=When+does+the+shop+open`,
  `/questions?bot=${BOT}`,
  `/evaluation?bot=${BOT}`,
  "/keys",
  `/moderation?bot=${BOT}`,
  "/overview",
  "/conversations",
  `/conversations?bot=${BOT}&source=widget`,
  "/conversations?rating=down",
  "/conversations?rating=up&review=bad",
  "/conversations?visitor=visitor-7",
  "/conversations?q=number+77",
  "/conversations?q=nothing+contains+this",
  `/conversations/${sessionId}`,
  `/tools?bot=${BOT}`,
  `/playground?bot=${BOT}`,
  "/usage",
  "/audit-log",
  // Screens of one bot, without a bot in the URL. localStorage is empty, so it stores no bot choice either.
  "/knowledge",
  "/questions",
  "/evaluation",
  "/moderation",
  "/tools",
  "/playground",
];
const BACKEND = /^\/(?:api|auth)\//;
const LOADS_PER_ROUND = 10;
/** Limit for the p95 of each screen, from the start of its first request to the end of its last one. */
const MAX_SCREEN_P95_MS = 100;

/** Opens each screen of the console in a browser, and measures how long its requests take together. Chromium sends at most six at a time. */
export async function measureScreens(
  { testbed, sso }: OwnersTestbed,
  { rounds, scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const { conversation, quota } = testbed.system;
  const running = await startConsole({
    sso,
    conversationUrl: `http://127.0.0.1:${conversation.opsPort}`,
    quotaUrl: `http://127.0.0.1:${quota.opsPort}`,
    edgeUrl: testbed.system.url(),
  });
  const executablePath = headlessChromiumCommand() ?? chromiumCommand();
  if (executablePath === undefined) throw new Error("chromium is not on the PATH");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const problems: string[] = [];
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => problems.push(error.message));
    await page.goto(running.url);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    page.on("response", (response) => {
      if (response.status() >= 400) problems.push(`status ${response.status()} of ${response.url()}`);
    });
    const screens = screensOf(await findSession(testbed));
    const times = new Map<string, number[]>(screens.map((path) => [path, []]));
    const loads = Math.ceil(rounds * LOADS_PER_ROUND * scale);
    // Ignores each screen's first load. During that load, the browser compiles the page's scripts, and PostgreSQL parses
    // the SQL statements.
    for (let load = 0; load <= loads; load++) {
      for (const path of screens) {
        // Removes the stored bot choice.
        await page.evaluate("localStorage.clear()");
        await page.goto(running.url + path);
        await page.waitForLoadState("networkidle");
        if (load > 0) times.get(path)?.push(await screenTimeMs(page));
      }
    }
    if (problems.length > 0) throw new Error(`the console has problems: ${problems.join(", ")}`);
    const slowest = [...times].map(([path, ms]) => ({ path, p95: percentile(ms, 95) })).sort((a, b) => b.p95 - a.p95);
    for (const { path, p95 } of slowest) progress(`${path}: p95 ${p95.toFixed(0)} ms`);
    const [worst = { path: "", p95: Number.NaN }] = slowest;
    return [
      atMost(MAX_SCREEN_P95_MS, {
        what: "p95 of a screen, from its first request to its last response",
        value: worst.p95,
        unit: "ms",
        detail: `slowest of ${screens.length} screens: ${worst.path}; ${loads} loads each`,
      }),
    ];
  } finally {
    await browser.close();
    await running.stop();
  }
}

async function findSession({ system }: Testbed): Promise<string> {
  const [session] = await queryRows<{ id: string }>(
    system.database.url,
    "SELECT session_id AS id FROM conversation.sessions WHERE workspace_id = $1 ORDER BY last_activity_at DESC LIMIT 1",
    [CONSOLE_WORKSPACE],
  );
  if (session === undefined) throw new Error("no session");
  return session.id;
}

/** Returns the time from the start of the page's first request to the console's backend to the end of the last one. */
async function screenTimeMs(page: Page): Promise<number> {
  const entries = await page.evaluate<{ name: string; startTime: number; responseEnd: number }[]>(
    "performance.getEntriesByType('resource').map(({ name, startTime, responseEnd }) => ({ name, startTime, responseEnd }))",
  );
  const requests = entries.filter(({ name }) => BACKEND.test(new URL(name).pathname));
  const startedAt = Math.min(...requests.map(({ startTime }) => startTime));
  return Math.max(...requests.map(({ responseEnd }) => responseEnd)) - startedAt;
}
