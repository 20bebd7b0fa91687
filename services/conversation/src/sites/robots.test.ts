import { setImmediate as nextIteration } from "node:timers/promises";
import { expect, test } from "vitest";
import { decodeRobotsTxt, filterUrls, parseRobotsTxt, type Robots } from "./robots.ts";

const SITE = "https://shop.example";
const { signal } = new AbortController();
const repeat = (line: string, count: number) => `${line}\n`.repeat(count);
/** Lines with the rules /000001, /000002 and so on. */
const numbered = (count: number, line: (path: string) => string) =>
  Array.from({ length: count }, (_, n) => `${line(`/${String(n).padStart(6, "0")}`)}\n`).join("");

async function parse(text: string): Promise<Robots> {
  return (await parseRobotsTxt(text, signal)) ?? expect.fail("too complex");
}

test.each<[string, string, Record<string, boolean>]>([
  ["no text permits everything", "", { "/": true, "/a": true }],
  [
    "the rules for Parley replace those for all",
    "User-agent: *\nDisallow: /\n\nUser-Agent: parley/1.0 # us\nDisallow: /staff\n",
    { "/": true, "/staff/a": false },
  ],
  ["an empty rule permits everything", "User-agent: *\nDisallow: /\nUser-agent: Parley\nDisallow:", { "/a": true }],
  ["rules for others do not matter", "User-agent: other\nDisallow: /", { "/a": true }],
  ["several user agents share rules", "User-agent: other\nUser-agent: Parley\nDisallow: /a", { "/a": false }],
  [
    "several groups of a user agent are one, whatever is between them",
    "User-agent: *\r\nDisallow: /a\r\nSitemap: https://shop.example/s.xml\rUser-agent: x\nDisallow: /c\nUser-agent: *\nDisallow: /b",
    { "/a": false, "/b": false, "/c": true },
  ],
  [
    "the longest rule decides, and of two the one that allows",
    "User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /x\nAllow: /x",
    { "/shop": false, "/shop/open/1": true, "/x": true },
  ],
  [
    "wildcards and the end of a path",
    "User-agent: *\nDisallow: /*?sort=\nDisallow: /*.php$\nDisallow: /end$",
    { "/a?sort=1": false, "/a.php": false, "/a.php?x": true, "/end": false, "/ends": true },
  ],
  [
    "escapes",
    "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /%7eada\nDisallow: /%2a\nDisallow: /*?f[a]=\nDisallow: /*?a='",
    {
      "/caf%c3%a9": false,
      "/%7Eada": false,
      "/~ada": false,
      "/%2A": false,
      "/*": true,
      "/?f[a]=1": false,
      "/?a='": false,
    },
  ],
  ["lines without a meaning", "Disallow: /\nnonsense\n: /\nUser-agent: *\nDisallow /a", { "/a": true }],
])("%s", async (_, text, expected) => {
  const { mayFetch } = await parse(text);
  const found = Object.keys(expected).map((path) => [path, mayFetch(SITE + path)]);
  expect(Object.fromEntries(found)).toEqual(expected);
});

test("a robots.txt has a crawl delay of at most a minute, and sitemaps", async () => {
  const text = "Sitemap: https://shop.example/a.xml\nsitemap: b.xml\nUser-agent: *\nCrawl-delay: 0.5";
  expect(await parse(text)).toMatchObject({ crawlDelayMs: 500, sitemaps: ["https://shop.example/a.xml"] });
  expect(await parse("User-agent: *\nCrawl-delay: 900")).toMatchObject({ crawlDelayMs: 60_000 });
  expect(await parse("User-agent: *\nCrawl-delay: soon")).toMatchObject({ crawlDelayMs: 0 });
});

test.each<[string, boolean, string]>([
  ["500 rules with wildcards", false, numbered(500, (path) => `Disallow: ${path}*?sort=*&filter=`)],
  ["10,000 rules without wildcards", false, repeat("Disallow: /cart # *", 10_000)],
  ["2,000 rules with wildcards", true, numbered(2_000, (path) => `Disallow: ${path}*?sort=*&filter=`)],
  ["2,000 rules with wildcards for others", false, `User-agent: x\n${repeat("Disallow: /*?sort=*", 2_000)}`],
  ["a long rule with wildcards", true, `Disallow: ${"*a".repeat(20_000)}`],
])("a robots.txt with %s: too complex is %j", async (_, isComplex, text) => {
  expect((await parseRobotsTxt(`User-agent: *\n${text}`, signal)) === undefined).toBe(isComplex);
});

test.each(["\n", "\r"])("a robots.txt is cut after 500 KiB, at the end of a line, which is %j", (end) => {
  const line = `Disallow: /cart${end}`;
  const cut = decodeRobotsTxt(new TextEncoder().encode(line.repeat(50_000)));
  expect(cut).toBe(line.repeat(Math.floor((500 * 1024) / line.length)));
  expect(decodeRobotsTxt(new TextEncoder().encode("Disallow: /cart"))).toBe("Disallow: /cart");
});

/** The CPU time of this thread, because the machine may be busy with other work. */
function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Returns the longest CPU time in milliseconds that `run` uses before other work can run. */
async function measureLongestStep(run: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let hasEnded = false;
  const running = run().finally(() => {
    hasEnded = true;
  });
  for (let before = readCpuMs(); !hasEnded; ) {
    await nextIteration();
    const now = readCpuMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
  }
  await running;
  return longestMs;
}

test.each([
  { title: "many rules", rules: numbered(24_000, (path) => `Disallow: ${path}-a`) },
  { title: "many user agents", rules: numbered(16_000, (path) => `User-agent: ${path}\nUser-agent: *\nAllow: /`) },
  { title: "one long rule", rules: `Disallow: /${"\u00e9".repeat(250_000)}` },
  { title: "wildcards up to the limit", rules: numbered(1_900, (path) => `Disallow: /*${path.slice(1)}b`) },
  { title: "wildcards that nearly match", rules: numbered(1_000, (path) => `Disallow: /*aaaaab${path}`) },
])("reading 500 KiB with $title keeps other work waiting for about 10 ms, and so does a check", async ({ rules }) => {
  const text = decodeRobotsTxt(new TextEncoder().encode(`User-agent: *\n${rules}`));
  const steps: { readMs: number; checkMs: number }[] = [];
  // The first attempts run before the code is compiled.
  for (let attempt = 0; attempt < 3; attempt++) {
    let robots: Robots | undefined;
    const readMs = await measureLongestStep(async () => {
      robots = await parse(text);
    });
    const before = readCpuMs();
    robots?.mayFetch(`${SITE}/${"a".repeat(960)}`);
    steps.push({ readMs, checkMs: readCpuMs() - before });
  }
  expect(Math.min(...steps.map(({ checkMs }) => checkMs))).toBeLessThan(10);
  expect(Math.min(...steps.map(({ readMs }) => readMs))).toBeLessThan(20);
});

test("checking many URLs with a long robots.txt lets other work run, and ends when the signal is aborted", async () => {
  const robots = await parse(`User-agent: *\n${numbered(20_000, (path) => `Disallow: /private${path}`)}`);
  const urls = Array.from(
    { length: 100 },
    (_, n) => `${SITE}/${n % 2 === 0 ? `private/${"0".repeat(6)}` : "page"}/${n}`,
  );
  let hasEnded = false;
  const filtered = filterUrls(urls, robots.mayFetch, signal).finally(() => {
    hasEnded = true;
  });
  await nextIteration();
  expect(hasEnded).toBe(false);
  expect(await filtered).toEqual(urls.filter((url) => url.includes("page")));
  await expect(filterUrls(urls, robots.mayFetch, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
});
