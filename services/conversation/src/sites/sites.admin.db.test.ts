import { KnowledgeAdminService, type Site, SiteAdminService } from "@parley/rpc/conversation";
import {
  redirectTo,
  sitemap,
  startWebsite,
  WEBSITE_NETWORK,
  type Website,
  webPage,
  withEtag,
} from "@parley/test-support";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem({ EGRESS_ALLOW: WEBSITE_NETWORK });

let site: Website;
let bot: Bot;
beforeEach(async () => {
  site = await startWebsite();
  onTestFinished(() => site.close());
  bot = await createBot(system.database);
});

const sites = () => system.createAdminClient(SiteAdminService);

async function waitUntilIdle(id: bigint): Promise<Site> {
  let found: Site | undefined;
  await expect
    .poll(
      async () => {
        found = (await sites().getSite({ ...botFields(bot), id })).site;
        return found?.state;
      },
      { timeout: 150_000, interval: 100 },
    )
    .not.toBe("crawling");
  return found as Site;
}

async function crawl(
  settings: { path?: string; include?: string[]; exclude?: string[]; maxPages?: number; singlePage?: boolean } = {},
) {
  const { path = "/", ...rest } = settings;
  const added = (await sites().putSite({ ...botFields(bot), url: `${site.origin}${path}`, ...rest })).site as Site;
  return waitUntilIdle(added.id);
}

async function refresh({ id }: Site) {
  await sites().refreshSite({ ...botFields(bot), id });
  return waitUntilIdle(id);
}

/** Returns the outcome of each URL, by its path. */
async function outcomesOf({ id }: Site): Promise<Record<string, string>> {
  const { pages } = await sites().getSite({ ...botFields(bot), id, pageSize: 500 });
  return Object.fromEntries(
    pages.map(({ url, outcome, code }) => [
      url.replace(site.origin, ""),
      code === "" ? outcome : `${outcome}: ${code}`,
    ]),
  );
}

/** Returns the text of each document, by the path of its name. */
async function textsOf(): Promise<Record<string, string>> {
  const knowledge = system.createAdminClient(KnowledgeAdminService);
  const { sources } = await knowledge.listSources({ ...botFields(bot), pageSize: 500 });
  const texts = sources.map(async ({ name }) => {
    const { passages } = await knowledge.getSource({ ...botFields(bot), name });
    return [name.replace(site.origin, ""), passages.map(({ heading, text }) => `${heading}: ${text}`).join("\n")];
  });
  return Object.fromEntries(await Promise.all(texts));
}

describe("a crawl", { timeout: 300_000 }, () => {
  test("adds the main part of each page that a link or the sitemap leads to, once", async () => {
    const { paths, origin } = site;
    paths.set(
      "/",
      webPage(
        "Shop",
        '<p>Bread daily.</p><a href="/a?utm_source=x#top">A</a><a href="/old">Old</a><a href="//b.example/">B</a>',
      ),
    );
    paths.set("/a", webPage("A", '<p>Text of A.</p><a href="/a?print=1">Print</a><a href="/copy">Copy</a>'));
    paths.set("/a?print=1", webPage("A", "<p>Text of A, to print.</p>", '<link rel="canonical" href="/a">'));
    paths.set("/copy", webPage("A", '<p>Text of A.</p><a href="/a?print=1">Print</a><a href="/copy">Copy</a>'));
    paths.set("/old", redirectTo("/new"));
    paths.set("/new", webPage("New", "<table><tr><th>Size<th>Price<tr><td>small<td>2 EUR</table>"));
    paths.set("/sitemap.xml", sitemap([`${origin}/hidden`, "https://other.example/x"]));
    paths.set("/hidden", webPage("Hidden", "<p>Only in the sitemap.</p>"));
    const crawled = await crawl();
    expect(crawled).toMatchObject({ state: "complete", failureCode: "", nextRunAt: "", maxPages: 500 });
    expect(crawled.counts).toMatchObject({
      found: 7,
      waiting: 0,
      documents: 4,
      added: 4,
      duplicate: 2,
      moved: 1,
      failed: 0,
    });
    expect(await outcomesOf(crawled)).toEqual({
      ...{ "/": "added", "/a": "added", "/a?print=1": "duplicate", "/copy": "duplicate" },
      ...{ "/hidden": "added", "/new": "added", "/old": "moved" },
    });
    expect(await textsOf()).toEqual({
      "/": "Shop: Bread daily.\nAOldB",
      "/a": "A: Text of A.\nPrintCopy",
      "/hidden": "Hidden: Only in the sitemap.",
      "/new": "New: Size: small; Price: 2 EUR.",
    });
  });

  test("obeys robots.txt, and its own patterns and limits", async () => {
    const { paths } = site;
    paths.set(
      "/robots.txt",
      "User-agent: *\nDisallow: /private\n\nUser-agent: Parley\nDisallow: /staff\nCrawl-delay: 0.2",
    );
    const links = ["/staff", "/private", "/shop/a", "/shop/b", "/shop/old/c", "/news", "/file.zip", "/x/x/x/"];
    paths.set("/", webPage("Home", links.map((each) => `<a href="${each}">${each}</a>`).join("")));
    for (const path of links) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl({ include: ["/shop/", "/private"], exclude: ["*/old"] });
    expect(await outcomesOf(crawled)).toEqual({
      "/": "skipped: excluded",
      "/news": "skipped: excluded",
      "/private": "added",
      "/shop/a": "added",
      "/shop/b": "added",
    });
    for (const path of ["/staff", "/shop/old/c", "/file.zip", "/x/x/x/"]) expect(site.requests).not.toContain(path);
    expect(site.maxConcurrent).toBe(1);
    // Fewer pages: the documents of pages that are left out now are removed.
    const limited = await crawl({ include: ["/shop/"], maxPages: 1 });
    expect(limited.counts).toMatchObject({ documents: 2, unchanged: 2 });
    expect(Object.keys(await textsOf())).toEqual(["/shop/a", "/shop/b"]);
  });

  test("keeps within the limit of pages", async () => {
    const links = Array.from({ length: 9 }, (_, index) => `<a href="/${index}">x</a>`).join("");
    site.paths.set("/", webPage("Home", links));
    for (let index = 0; index < 9; index++)
      site.paths.set(`/${index}`, webPage(`Page ${index}`, `<p>Text ${index}.</p>`));
    const crawled = await crawl({ maxPages: 4 });
    expect(crawled).toMatchObject({ state: "complete", counts: { documents: 4, found: 8, waiting: 0, skipped: 4 } });
    expect(await outcomesOf(crawled)).toMatchObject({ "/6": "skipped: max_pages" });
  });

  test("finds other pages when its patterns change, although it remembers as many URLs as it may", async () => {
    const links = ["/tag/1", "/tag/2", "/tag/3", "/tag/4", "/z"];
    site.paths.set("/", webPage("Home", links.map((each) => `<a href="${each}">${each}</a>`).join("")));
    for (const path of links) site.paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl({ maxPages: 2 });
    expect(crawled.counts).toMatchObject({ found: 4, documents: 2 });
    await crawl({ maxPages: 2, exclude: ["/tag/"] });
    expect(await outcomesOf(crawled)).toMatchObject({ "/": "unchanged", "/z": "added" });
    expect(Object.keys(await textsOf())).toEqual(["/", "/z"]);
  });

  test("adds no URLs by patterns that were changed while it read a page", async () => {
    let isChanged = false;
    site.paths.set("/", async (_, response) => {
      if (!isChanged) {
        isChanged = true;
        await sites().putSite({ ...botFields(bot), url: `${site.origin}/`, exclude: ["/tag/"] });
      }
      const home = webPage("Home", '<a href="/tag/1">T</a><a href="/z">Z</a>');
      response.writeHead(200, { "content-type": "text/html" }).end(home);
    });
    site.paths.set("/z", webPage("Z", "<p>Text of Z.</p>"));
    expect(await outcomesOf(await crawl())).toEqual({ "/": "added", "/z": "added" });
  });

  test("stores only texts that have changed", async () => {
    const { paths } = site;
    paths.set("/", webPage("Home", '<a href="/tagged">T</a><a href="/plain">P</a>'));
    paths.set("/tagged", withEtag(webPage("Tagged", "<p>One.</p>"), '"1"'));
    paths.set("/plain", webPage("Plain", "<p>One.</p>"));
    const crawled = await crawl();
    const readIds = async () =>
      (await system.database.query("SELECT chunk_id FROM conversation.knowledge_chunks ORDER BY chunk_id")).rows;
    const before = await readIds();
    // Another script, but the same text.
    paths.set("/plain", webPage("Plain", "<p>One.</p>"));
    expect((await refresh(crawled)).counts).toMatchObject({ unchanged: 3, changed: 0, added: 0 });
    expect(await readIds()).toEqual(before);
    paths.set("/tagged", withEtag(webPage("Tagged", "<p>Two.</p>"), '"2"'));
    expect((await refresh(crawled)).counts).toMatchObject({ unchanged: 2, changed: 1 });
    expect(await textsOf()).toMatchObject({ "/tagged": "Tagged: Two.", "/plain": "Plain: One." });
  });

  test("keeps the last good text of a page that fails, and records one event", async () => {
    const { paths } = site;
    await system.database.query(
      `INSERT INTO conversation.webhook_endpoints (workspace_id, endpoint_id, url, types, include_content, secret)
       VALUES ($1, gen_random_uuid(), 'https://example.com', '{knowledge.failed}', false, 'x')`,
      [bot.workspaceId],
    );
    paths.set("/", webPage("Home", '<a href="/a">A</a><a href="/b">B</a>'));
    for (const path of ["/a", "/b"]) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl();
    for (const path of ["/a", "/b"]) paths.set(path, 500);
    expect(await refresh(crawled)).toMatchObject({ state: "complete", counts: { failed: 2, documents: 3 } });
    expect(await outcomesOf(crawled)).toMatchObject({ "/a": "failed: url_status" });
    expect(await textsOf()).toMatchObject({ "/a": "/a: Text of /a." });
    // The service copies each event into the queue of the webhook.
    const readEvents = async () => {
      const { rows } = await system.database.query(
        "SELECT type, data FROM conversation.webhook_deliveries WHERE workspace_id = $1",
        [bot.workspaceId],
      );
      return rows;
    };
    const name = `${site.origin}/`;
    await expect.poll(readEvents, { timeout: 20_000 }).toEqual([
      {
        type: "knowledge.failed",
        data: { bot_slug: bot.slug, name, code: "url_status", refresh: true, site_id: Number(crawled.id) },
      },
    ]);
  });

  test("attempts a page three times whose check fails unexpectedly, and reads the other pages", async () => {
    const { paths } = site;
    // PostgreSQL fails in the way of a bug: for this page's document, each time.
    await system.admin.query(`
      CREATE FUNCTION conversation.fail_check() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bug'; END $$;
      CREATE TRIGGER fail_check BEFORE INSERT ON conversation.knowledge_sources
        FOR EACH ROW WHEN (NEW.name LIKE '%/broken') EXECUTE FUNCTION conversation.fail_check()`);
    onTestFinished(async () => {
      await system.admin.query("DROP FUNCTION conversation.fail_check CASCADE");
    });
    paths.set("/", webPage("Home", '<a href="/broken">B</a><a href="/z">Z</a>'));
    for (const path of ["/broken", "/z"]) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl();
    expect(crawled).toMatchObject({ state: "complete", counts: { added: 2, failed: 1, waiting: 0 } });
    expect(await outcomesOf(crawled)).toEqual({ "/": "added", "/broken": "failed: unexpected_error", "/z": "added" });
    expect(site.requests.filter((path) => path === "/broken")).toHaveLength(3);
  });

  test("removes the document of a page only if it is missing twice, an hour apart, and keeps that of a temporary redirect", async () => {
    const { paths } = site;
    paths.set("/", webPage("Home", '<a href="/a">A</a><a href="/b">B</a>'));
    for (const path of ["/a", "/b"]) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl();
    paths.set("/a", 404);
    paths.set("/b", redirectTo("/login", 302));
    paths.set("/login", webPage("Login", "<p>Please log in.</p>"));
    const missed = await refresh(crawled);
    expect(missed.counts).toMatchObject({ missing: 1, moved: 1, documents: 4 });
    expect(await outcomesOf(crawled)).toMatchObject({ "/b": "moved: temporary_redirect" });
    // The run that confirms is planned, although the site has no interval.
    const minutes = (Date.parse(missed.nextRunAt) - Date.parse(missed.endedAt)) / 60_000;
    expect(minutes).toBeGreaterThan(60);
    expect((await refresh(crawled)).counts).toMatchObject({ missing: 1, documents: 4 });
    await system.database.query(
      `UPDATE conversation.knowledge_pages SET gone_since = gone_since - interval '1 hour' WHERE workspace_id = $1`,
      [bot.workspaceId],
    );
    const confirmed = await refresh(crawled);
    expect(confirmed).toMatchObject({ nextRunAt: "", counts: { removed: 1, moved: 1, unchanged: 2, documents: 3 } });
    expect(Object.keys(await textsOf())).toEqual(["/", "/b", "/login"]);
    // The home page still links to the missing page.
    expect((await refresh(crawled)).counts).toMatchObject({ found: 4, missing: 1, removed: 0 });
  });

  test("removes the document of a page that has moved for good once the new page has its text", async () => {
    const { paths } = site;
    paths.set("/", webPage("Home", '<p>Text.</p><a href="/a">A</a>'));
    paths.set("/a", webPage("A", "<p>Text of A.</p>"));
    const crawled = await crawl();
    paths.set("/a", redirectTo("/new"));
    paths.set("/new", webPage("A", "<p>New text of A.</p>"));
    await refresh(crawled);
    await refresh(crawled);
    expect(Object.keys(await textsOf())).toEqual(["/", "/a", "/new"]);
    await system.database.query(
      `UPDATE conversation.knowledge_pages SET gone_since = gone_since - interval '1 hour' WHERE workspace_id = $1`,
      [bot.workspaceId],
    );
    await refresh(crawled);
    expect(Object.keys(await textsOf())).toEqual(["/", "/new"]);
  });

  test("of a single page reads the page alone, after redirects, and shows its failure beside the last good text", async () => {
    const { paths } = site;
    paths.set("/prices", redirectTo("/prices-2", 302));
    paths.set(
      "/prices-2",
      webPage("Prices", '<p>Bread costs 2 EUR.</p><a href="/">Home</a>', '<link rel="canonical" href="/">'),
    );
    paths.set("/", webPage("Home", "<p>Welcome.</p>"));
    const crawled = await crawl({ path: "/prices", singlePage: true });
    expect(crawled).toMatchObject({ state: "complete", singlePage: true, counts: { found: 1, documents: 1 } });
    expect(await textsOf()).toEqual({ "/prices": "Prices: Bread costs 2 EUR.\nHome" });
    paths.set("/prices-2", 500);
    expect(await refresh(crawled)).toMatchObject({
      state: "failed",
      failureCode: "url_status",
      counts: { documents: 1 },
    });
    expect(Object.keys(await textsOf())).toEqual(["/prices"]);
    // The site of the same URL is another one.
    expect((await crawl({ path: "/prices" })).id).not.toBe(crawled.id);
  });

  test("waits for a busy server", async () => {
    let refusals = 1;
    site.paths.set("/", (_, response) => {
      if (refusals-- > 0) return void response.writeHead(429, { "retry-after": "1" }).end();
      response.writeHead(200, { "content-type": "text/html" }).end(webPage("Home", "<p>Text.</p>"));
    });
    expect((await crawl()).counts).toMatchObject({ added: 1, failed: 0 });
  });

  test.each<[string, (site: Website) => void, string]>([
    ["robots.txt cannot be fetched", ({ paths }) => paths.set("/robots.txt", 500), "robots_unavailable"],
    ["robots.txt forbids it", ({ paths }) => paths.set("/robots.txt", "User-agent: *\nDisallow: /"), "robots_refused"],
    ["the start page is missing", ({ paths }) => paths.delete("/"), "no_pages"],
    ["the start page fails", ({ paths }) => paths.set("/", 500), "url_status"],
  ])("fails if %s", async (_, breakSite, failureCode) => {
    site.paths.set("/", webPage("Home", "<p>Text.</p>"));
    breakSite(site);
    expect(await crawl()).toMatchObject({ state: "failed", failureCode, failure: expect.stringMatching(/./) });
    if (failureCode.startsWith("robots")) expect(site.requests).toEqual(["/robots.txt"]);
  });

  test("stops at the limits of the plan, and shows why", async () => {
    site.paths.set("/", webPage("Home", '<a href="/a">A</a><a href="/b">B</a>'));
    for (const path of ["/a", "/b"]) site.paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    system.quota.knowledgeLimits.set(bot.workspaceId, { maxKnowledgeDocuments: 1, maxKnowledgeCharacters: 1_000 });
    expect(await crawl()).toMatchObject({
      state: "complete",
      failureCode: "knowledge_limit_reached",
      failure: expect.stringContaining("1 documents"),
      counts: { documents: 1, failed: 2 },
    });
  });

  test("follows no redirect to an address that is not permitted", async () => {
    site.paths.set("/", webPage("Home", '<p>Text.</p><a href="/out">Out</a>'));
    site.paths.set("/out", redirectTo("http://127.0.0.1:1/secret"));
    expect(await outcomesOf(await crawl())).toEqual({ "/": "added", "/out": "moved: other_site" });
    const single = await crawl({ path: "/out", singlePage: true });
    expect(single).toMatchObject({ state: "failed", failureCode: "unreachable" });
  });

  test("adds a document again that an owner has removed, and keeps the name that an owner has given", async () => {
    const { paths, origin } = site;
    paths.set("/", webPage("Home", '<a href="/a">A</a><a href="/b">B</a>'));
    for (const path of ["/a", "/b"]) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
    const crawled = await crawl();
    const knowledge = system.createAdminClient(KnowledgeAdminService);
    await knowledge.removeSource({ ...botFields(bot), name: `${origin}/a` });
    await knowledge.renameSource({ ...botFields(bot), name: `${origin}/b`, newName: "Page B" });
    paths.set("/b", webPage("/b", "<p>New text of /b.</p>"));
    expect((await refresh(crawled)).counts).toMatchObject({ added: 1, changed: 1, unchanged: 1, documents: 3 });
    expect(await textsOf()).toMatchObject({ "/a": "/a: Text of /a.", "Page B": "/b: New text of /b." });
    expect(Object.keys(await textsOf())).toHaveLength(3);
  });
});

test("a site can be stopped, refreshed and removed with its documents", { timeout: 300_000 }, async () => {
  const { paths } = site;
  paths.set("/robots.txt", "User-agent: *\nCrawl-delay: 2");
  paths.set("/", webPage("Home", '<a href="/a">A</a><a href="/b">B</a>'));
  for (const path of ["/a", "/b"]) paths.set(path, webPage(path, `<p>Text of ${path}.</p>`));
  const { site: added } = await sites().putSite({ ...botFields(bot), url: site.origin, refreshMinutes: 60 });
  const id = added?.id as bigint;
  expect(added).toMatchObject({ state: "crawling", url: `${site.origin}/` });
  await expect.poll(async () => Object.keys(await textsOf()), { timeout: 60_000 }).toEqual(["/"]);
  const { site: stopped } = await sites().stopSite({ ...botFields(bot), id });
  expect(stopped).toMatchObject({ state: "stopped", counts: { documents: 1, waiting: 2 } });
  expect(Date.parse(stopped?.nextRunAt ?? "") - Date.parse(stopped?.startedAt ?? "")).toBe(3_600_000);
  const schedule = async (refreshMinutes: number) =>
    (await sites().scheduleSite({ ...botFields(bot), id, refreshMinutes })).site;
  expect(await schedule(0)).toMatchObject({ state: "stopped", refreshMinutes: 0, nextRunAt: "" });
  const daily = await schedule(1_440);
  expect(Date.parse(daily?.nextRunAt ?? "") - Date.parse(daily?.startedAt ?? "")).toBe(86_400_000);
  // A run that is due starts without a call.
  await system.database.query("UPDATE conversation.knowledge_sites SET next_run_at = now() WHERE workspace_id = $1", [
    bot.workspaceId,
  ]);
  await expect.poll(async () => Object.keys(await textsOf()), { timeout: 60_000 }).toEqual(["/", "/a", "/b"]);
  await waitUntilIdle(id);
  expect((await sites().listSites(botFields(bot))).sites).toMatchObject([{ id, state: "complete" }]);
  await sites().removeSite({ ...botFields(bot), id });
  await expect.poll(async () => (await sites().listSites(botFields(bot))).sites, { timeout: 60_000 }).toEqual([]);
  expect(await textsOf()).toEqual({});
  for (const call of [sites().getSite, sites().scheduleSite, sites().refreshSite, sites().stopSite, sites().removeSite])
    expect(await adminFailure(call({ ...botFields(bot), id }))).toMatchObject({ parleyCode: "site_not_found" });
});

test("invalid settings are refused", async () => {
  const put = (fields: object) => sites().putSite({ ...botFields(bot), url: site.origin, ...fields });
  for (const invalid of [
    { url: "ftp://example.com/" },
    { url: "https://user:password@example.com/" },
    { url: "no url" },
    { include: ["shop"] },
    { exclude: [""] },
    { maxPages: 5_001 },
    { refreshMinutes: 59 },
  ])
    expect(await adminFailure(put(invalid))).toMatchObject({ parleyCode: "invalid_argument" });
  expect(await adminFailure(put({ botSlug: "absent" }))).toMatchObject({ parleyCode: "bot_not_found" });
});
