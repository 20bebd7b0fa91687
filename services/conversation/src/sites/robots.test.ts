import { setImmediate as nextIteration } from "node:timers/promises";
import { expect, test } from "vitest";
import { decodeRobotsTxt, filterUrls, isTooComplex, parseRobotsTxt } from "./robots.ts";

const repeat = (line: string, count: number) => `${line}\n`.repeat(count);

test.each<[string, string, boolean]>([
  ["no text", "", false],
  ["500 rules with wildcards", repeat("Disallow: /*?sort=*&filter=", 500), false],
  ["10,000 rules without wildcards", repeat("Disallow: /cart # *", 10_000), false],
  ["10,000 groups", repeat("User-agent: *", 10_000), false],
  ["2,000 rules with wildcards", repeat("Disallow: /*?sort=*&filter=", 2_000), true],
  ["a long rule with wildcards", `Disallow: ${"*a".repeat(20_000)}`, true],
])("a robots.txt with %s: too complex is %j", (_, text, isComplex) => {
  expect(isTooComplex(text)).toBe(isComplex);
});

test("a robots.txt is cut after 500 KiB, at the end of a line", () => {
  const line = "Disallow: /cart\n";
  const cut = decodeRobotsTxt(new TextEncoder().encode(line.repeat(50_000)));
  expect(cut).toBe(line.repeat(Math.floor((500 * 1024) / line.length)));
  expect(decodeRobotsTxt(new TextEncoder().encode("Disallow: /cart"))).toBe("Disallow: /cart");
});

test("checking many URLs with a long robots.txt lets other work run, and ends when the signal is aborted", async () => {
  const robots = parseRobotsTxt(
    "https://shop.example/robots.txt",
    `User-agent: *\n${repeat("Disallow: /private", 20_000)}`,
  );
  const urls = Array.from({ length: 20 }, (_, n) => `https://shop.example/${n % 2 === 0 ? "private" : "page"}/${n}`);
  const { signal } = new AbortController();
  let hasEnded = false;
  const filtered = filterUrls(urls, robots.mayFetch, signal).finally(() => {
    hasEnded = true;
  });
  await nextIteration();
  expect(hasEnded).toBe(false);
  expect(await filtered).toEqual(urls.filter((url) => url.includes("page")));
  await expect(filterUrls(urls, robots.mayFetch, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
});
