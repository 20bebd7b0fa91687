import {
  fillShop,
  isTrap,
  MAX_TRAP_PAGES,
  SHOP_PAGES,
  startWebsite,
  WEBSITE_NETWORK,
  type Website,
} from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { startSemanticSearchSystem, waitUntilEmbedded } from "./system/semantic-search.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

const ENV = { conversation: { EGRESS_ALLOW: WEBSITE_NETWORK } };
const CRAWL_DELAY_MS = 100;

async function openShop(robots = "") {
  const site = await startWebsite();
  onTestFinished(() => site.close());
  return { site, ...fillShop(site, robots) };
}

/** Waits until the bot's site is no longer crawled, and returns it. */
async function waitUntilCrawled({ admin }: System, { workspaceId, botSlug }: Tenant) {
  const find = async () => (await admin.sites.listSites({ workspaceId, botSlug })).sites[0];
  await expect.poll(async () => (await find())?.state, { timeout: 280_000, interval: 500 }).not.toBe("crawling");
  return (await find()) ?? expect.fail();
}

/** Returns the names and the texts of the bot's documents. */
async function readDocuments({ admin }: System, { workspaceId, botSlug }: Tenant) {
  const { sources } = await admin.knowledge.listSources({ workspaceId, botSlug, pageSize: 500 });
  const read = async (name: string) => {
    const { passages } = await admin.knowledge.getSource({ workspaceId, botSlug, name });
    return passages.map(({ heading, text }) => `${heading}: ${text}`).join("\n");
  };
  return new Map(await Promise.all(sources.map(async ({ name }) => [name, await read(name)] as const)));
}

/** Checks that each page of the shop is a document once, and that the trap was left. */
function expectShop(documents: Map<string, string>, site: Website): void {
  expect(new Set(documents.values()).size).toBe(documents.size);
  const trap = [...documents.keys()].filter((name) => isTrap(name.replace(site.origin, "")));
  expect(documents.size - trap.length).toBe(SHOP_PAGES);
  expect(trap.length).toBeLessThanOrEqual(MAX_TRAP_PAGES);
  expect(site.requests.filter(isTrap).length).toBeLessThanOrEqual(2 * MAX_TRAP_PAGES);
  expect(site.requests).not.toContain("/private/secret");
}

test("a second crawl of a shop with 300 pages embeds only the three that have changed", {
  timeout: 600_000,
}, async () => {
  const system = await startSemanticSearchSystem({ env: ENV });
  onTestFinished(() => system.stop());
  const owner = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = owner;
  const { site, setPrice } = await openShop();
  const embedded = () =>
    system.provider.requests.flatMap(({ model, body }) =>
      model === "words" ? (body as { input: string[] }).input : [],
    );
  const started = performance.now();
  await system.admin.sites.putSite({ workspaceId, botSlug, url: site.origin });
  const first = await waitUntilCrawled(system, owner);
  const firstSeconds = Math.round((performance.now() - started) / 1_000);
  await waitUntilEmbedded(system, owner);
  expect(first).toMatchObject({ state: "complete", counts: { failed: 0, waiting: 0 } });
  expectShop(await readDocuments(system, owner), site);
  expect(site.maxConcurrent).toBe(2);
  const [firstEmbedded, firstRequests] = [embedded().length, site.requests.length];

  for (const product of [2, 7, 250]) setPrice(product, "9.99 EUR");
  await system.admin.sites.refreshSite({ workspaceId, botSlug, id: first.id });
  const second = await waitUntilCrawled(system, owner);
  await waitUntilEmbedded(system, owner);
  expect(second.counts).toMatchObject({ added: 0, changed: 3, failed: 0, documents: first.counts?.documents });
  const texts = embedded().slice(firstEmbedded);
  expect(texts.map((text) => /Product \d+ costs 9\.99 EUR/.exec(text)?.[0]).sort()).toEqual([
    "Product 2 costs 9.99 EUR",
    "Product 250 costs 9.99 EUR",
    "Product 7 costs 9.99 EUR",
  ]);
  const documents = await readDocuments(system, owner);
  expectShop(documents, site);
  expect(documents.get(`${site.origin}/product/7`)).toContain("9.99 EUR");
  console.info(
    `first crawl: ${first.counts?.documents} documents from ${firstRequests} requests in ${firstSeconds} s, ${firstEmbedded} texts embedded; ` +
      `second crawl: ${site.requests.length - firstRequests} requests, ${second.counts?.changed} changed, ` +
      `${second.counts?.unchanged} unchanged, ${texts.length} texts embedded`,
  );
});

test("a crawl continues where the service was killed, and keeps the crawl delay", { timeout: 600_000 }, async () => {
  const system = await startSystem({ env: ENV });
  onTestFinished(() => system.stop());
  const owner = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = owner;
  const { site } = await openShop(`Crawl-delay: ${CRAWL_DELAY_MS / 1_000}`);
  await system.admin.sites.putSite({ workspaceId, botSlug, url: site.origin });
  const count = async () => (await system.admin.sites.listSites({ workspaceId, botSlug })).sites[0]?.counts?.documents;
  await expect.poll(count, { timeout: 120_000, interval: 200 }).toBeGreaterThan(100);
  await system.conversation.kill9();
  const killedAfter = site.requests.length;
  await system.conversation.start();
  expect(await waitUntilCrawled(system, owner)).toMatchObject({ state: "complete", counts: { failed: 0, waiting: 0 } });
  expectShop(await readDocuments(system, owner), site);
  // Only the page that was being checked is fetched again.
  const pages = site.requests.filter((path) => !/robots|sitemap/.test(path));
  const repeated = pages.length - new Set(pages).size;
  expect(repeated).toBeLessThanOrEqual(1);
  expect(site.maxConcurrent).toBe(1);
  const gaps = site.arrivedAtMs.slice(1).map((atMs, index) => atMs - (site.arrivedAtMs[index] ?? 0));
  const shortestMs = Math.min(...gaps);
  // Timers and two clocks may differ by a few milliseconds.
  expect(shortestMs).toBeGreaterThan(CRAWL_DELAY_MS - 10);
  console.info(
    `killed after ${killedAfter} of ${site.requests.length} requests; ${repeated} pages fetched again; shortest pause ${Math.round(shortestMs)} ms`,
  );
});
