import { expect, test } from "vitest";
import { coversPublicSuffix, isPublicSuffix, listSuffixRules } from "./public-suffixes.ts";

const rules = listSuffixRules();

test("every rule of listSuffixRules is a public suffix according to tldts", () => {
  expect(rules.length).toBeGreaterThan(5_000);
  expect(rules.filter((rule) => !isPublicSuffix(rule.replace("*", "any")))).toEqual([]);
});

test("coversPublicSuffix is true for every public suffix and each of its parent domains", () => {
  const missed = new Set<string>();
  for (const rule of rules)
    for (let name = rule.replace(/^\*\./, ""); name !== ""; name = name.split(".").slice(1).join("."))
      if (!coversPublicSuffix(name)) missed.add(name);
  expect([...missed]).toEqual([]);
});

test("coversPublicSuffix is false for registrable domains and their subdomains", () => {
  for (const host of [
    "example.com",
    "shop.example.com",
    "shop.co.uk",
    "shop.github.io",
    "www.ck",
    "a.s3.amazonaws.com",
  ])
    expect(coversPublicSuffix(host), host).toBe(false);
});
