import { describe, expect, test } from "vitest";
import { createOriginMatcher } from "./origin.ts";

describe("a plain domain", () => {
  const allows = createOriginMatcher(["ok.com"]);

  test("allows exactly its https origin", () => {
    expect(allows("https://ok.com")).toBe(true);
  });

  test.each([
    undefined,
    "null",
    "",
    "http://ok.com",
    "https://ok.com.evil.com",
    "https://ok.com@evil.com",
    "https://evilok.com",
    "https://ok.com.",
    "https://ok.com:8443",
    "https://ok.com:443",
    "https://ok.com\\.evil.com",
    "https://o%6b.com",
    "https://OK.com",
    "https://ok.com/",
    " https://ok.com",
    "https://www.ok.com",
    "https://ok.com https://evil.com",
  ])("refuses %j", (origin) => {
    expect(allows(origin)).toBe(false);
  });
});

test("a wildcard allows subdomains at any depth but not the host itself", () => {
  const allows = createOriginMatcher(["*.example.com"]);
  expect(allows("https://a.example.com")).toBe(true);
  expect(allows("https://a.b.example.com")).toBe(true);
  expect(allows("https://example.com")).toBe(false);
  expect(allows("https://evilexample.com")).toBe(false);
  expect(allows("https://.example.com")).toBe(false);
  expect(allows("https://a..example.com")).toBe(false);
});

test("an entry with a scheme and a port allows only that scheme and port", () => {
  const allows = createOriginMatcher(["http://shop.example:8080"]);
  expect(allows("http://shop.example:8080")).toBe(true);
  expect(allows("https://shop.example:8080")).toBe(false);
  expect(allows("http://shop.example")).toBe(false);
});

describe("an entry with the scheme of an app or browser extension", () => {
  const uuid = "0e5b2c1a-0f3b-4c58-9d0e-1f2a3b4c5d6e";
  const extension = `chrome-extension://${"abcdefghijklmnop".repeat(2)}`;
  const entries = ["capacitor://localhost", extension, `safari-web-extension://${uuid}`, "app://obsidian.md"];
  const allows = createOriginMatcher(entries);

  test.each([...entries, `safari-web-extension://${uuid.toUpperCase()}`])("allows %s", (origin) => {
    expect(allows(origin)).toBe(true);
  });

  test.each([
    "https://localhost",
    "http://localhost",
    "capacitor://localhost:8080",
    "capacitor://localhost/",
    "capacitor://localhost.evil.com",
    "capacitor://evil.localhost",
    "Capacitor://localhost",
    "ionic://localhost",
    "capacitor://",
    "capacitor://user@localhost",
    "moz-extension://abcdefghijklmnopabcdefghijklmnop",
    `${extension}a`,
    "app://evil.obsidian.md",
    "https://obsidian.md",
    "null",
    "file://",
  ])("refuses %s", (origin) => {
    expect(allows(origin)).toBe(false);
  });

  test("is needed: an entry without a scheme, or with a wildcard, allows no app", () => {
    for (const entry of ["localhost", "https://localhost", "http://localhost", "*.localhost", "obsidian.md"])
      for (const origin of entries) expect(createOriginMatcher([entry])(origin), `${entry} ${origin}`).toBe(false);
  });
});

test("localhost is allowed over http and https, on any port unless the entry names one", () => {
  const allowsAnyPort = createOriginMatcher(["localhost", "127.0.0.1"]);
  expect(allowsAnyPort("http://localhost:3000")).toBe(true);
  expect(allowsAnyPort("https://localhost")).toBe(true);
  expect(allowsAnyPort("http://127.0.0.1:8089")).toBe(true);
  expect(allowsAnyPort("http://localhost.evil.com")).toBe(false);
  const allowsOnePort = createOriginMatcher(["localhost:3000"]);
  expect(allowsOnePort("http://localhost:3000")).toBe(true);
  expect(allowsOnePort("http://localhost:3001")).toBe(false);
});

test("an entry for localhost with port 80 or 443 allows only http://localhost or https://localhost, respectively", () => {
  const origins = ["http://localhost", "https://localhost", "http://localhost:3000", "https://localhost:3000"];
  const allowedBy = (entry: string) => origins.filter(createOriginMatcher([entry]));
  expect(allowedBy("localhost:80")).toEqual(["http://localhost"]);
  expect(allowedBy("localhost:443")).toEqual(["https://localhost"]);
  expect(allowedBy("http://localhost:80")).toEqual(["http://localhost"]);
  expect(allowedBy("https://localhost:443")).toEqual(["https://localhost"]);
});
