import { describe, expect, test } from "vitest";
import { normaliseAllowedDomain, normaliseAllowedDomains } from "./allowed-domain.ts";

describe("normaliseAllowedDomain returns [scheme://][*.]host[:port]", () => {
  test.each([
    ["example.com", "example.com"],
    ["  Example.COM ", "example.com"],
    ["*.example.com", "*.example.com"],
    ["https://Example.com:443", "https://example.com"],
    ["https://example.com/", "https://example.com"],
    ["http://example.com:80", "http://example.com"],
    ["http://example.com:443", "http://example.com:443"],
    ["HTTPS://example.com:8443", "https://example.com:8443"],
    ["example.com:443", "example.com"],
    ["example.com:80", "example.com:80"],
    ["example.com:08443", "example.com:8443"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["*.BÜCHER.example", "*.xn--bcher-kva.example"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["localhost", "localhost"],
    ["localhost:3000", "localhost:3000"],
    ["localhost:80", "localhost:80"],
    ["localhost:443", "localhost:443"],
    ["https://localhost:443", "https://localhost:443"],
    ["http://127.0.0.1:80", "http://127.0.0.1:80"],
    ["127.0.0.1", "127.0.0.1"],
    ["http://127.0.0.1:5173", "http://127.0.0.1:5173"],
    ["[::1]:3000", "[::1]:3000"],
    ["http://[0:0:0:0:0:0:0:1]", "http://[::1]"],
    ["my_site.example.com", "my_site.example.com"],
    ["*.shop.co.uk", "*.shop.co.uk"],
    ["*.shop.github.io", "*.shop.github.io"],
    ["shop.github.io", "shop.github.io"],
    ["*.intranet.corp", "*.intranet.corp"],
  ])("%s becomes %s, which normalises to itself", (entry, stored) => {
    expect(normaliseAllowedDomain(entry)).toBe(stored);
    expect(normaliseAllowedDomain(stored)).toBe(stored);
  });
});

describe("normaliseAllowedDomain refuses an entry and names the reason", () => {
  test.each([
    ["", "empty"],
    ["   ", "empty"],
    ["*", "every site"],
    ["https://*", "every site"],
    ["*.com", "two labels"],
    ["*.127.0.0.1", "two labels"],
    ["*.co.uk", "anyone can register"],
    ["https://*.CO.UK:8443", "anyone can register"],
    ["*.com.br", "anyone can register"],
    ["*.公司.cn", "anyone can register"],
    ["*.xn--55qx5d.cn", "anyone can register"],
    ["*.any.ck", "anyone can register"],
    ["*.github.io", "anyone can register"],
    ["*.vercel.app", "anyone can register"],
    ["*.s3.amazonaws.com", "anyone can register"],
    ["*.compute.amazonaws.com", "anyone can register"],
    ["*.amazonaws.com", "anyone can register"],
    ["shop.exa\nmple", "invisible"],
    ["shop.example\n", "invisible"],
    ["shop.example\r\nother.example", "invisible"],
    ["shop.\texample", "invisible"],
    ["shop\u00ad.example", "invisible"],
    ["shop\u200b.example", "invisible"],
    ["shop\u2060.example", "invisible"],
    ["shop.example\u0000", "invisible"],
    ["shop.example\u2028", "invisible"],
    ["*.*.example.com", "whole subdomains"],
    ["a*.example.com", "whole subdomains"],
    ["example.com.", "dot"],
    ["example.com/path", "path"],
    ["https://example.com/path", "path"],
    ["example.com?x", "path"],
    ["example.com#x", "path"],
    ["example.com\\evil", "path"],
    ["user@example.com", "credentials"],
    ["https://user:pw@example.com", "credentials"],
    ["ftp://example.com", "scheme"],
    ["://example.com", "scheme"],
    ["javascript://example.com", "scheme"],
    ["example.com:0", "port"],
    ["example.com:65536", "port"],
    ["example.com:", "port"],
    ["example.com:abc", "port"],
    ["example.com:80:80", "port"],
    ["o%6b.com", "valid name"],
    ["exa mple.com", "valid name"],
    ["example..com", "valid name"],
    ["-example.com", "valid name"],
    ["127.1", "valid name"],
    ["0x7f000001", "valid name"],
    ["[::zz]", "IPv6"],
    ["::1", "brackets"],
    [`${"a".repeat(64)}.example.com`, "valid name"],
    [`${"a.".repeat(200)}com`, "too long"],
  ])("%j: %s", (entry, reason) => {
    expect(() => normaliseAllowedDomain(entry)).toThrow(reason);
  });
});

test("normaliseAllowedDomains accepts 1 to 100 entries and removes duplicates", () => {
  expect(normaliseAllowedDomains(["a.example", "A.example", "b.example"])).toEqual(["a.example", "b.example"]);
  expect(() => normaliseAllowedDomains([])).toThrow("1 to 100");
  expect(() => normaliseAllowedDomains(Array.from({ length: 101 }, (_, n) => `a${n}.example`))).toThrow("1 to 100");
});
