import { describe, expect, test } from "vitest";
import { isPublicUrl, toShownSource } from "./shown-source.ts";

describe("isPublicUrl", () => {
  test.each([
    "https://shop.example.com/delivery?page=2",
    "http://www.bücher.de/",
    "https://somebody.github.io/shop",
    "https://shop.co.uk:8443/",
  ])("%s is public", (url) => expect(isPublicUrl(url)).toBe(true));

  test.each([
    "",
    "prices.pdf",
    "http://localhost:8089/delivery",
    "http://127.0.0.1/",
    "http://10.1.2.3/wiki",
    "http://[::1]/",
    "https://wiki/",
    "https://wiki.internal/",
    "https://wiki.corp.local/",
    "https://co.uk/",
    "https://user:secret@shop.example.com/",
    "ftp://shop.example.com/",
    "file:///etc/passwd",
  ])("%s is not", (url) => expect(isPublicUrl(url)).toBe(false));
});

describe("toShownSource", () => {
  const page = {
    source: "https://shop.example.com/delivery",
    url: "https://shop.example.com/delivery",
    heading: "Delivery > Europe",
  };
  const file = { source: "internal/prices.pdf", url: "", heading: "Prices" };
  const wiki = { source: "http://wiki.internal/prices", url: "http://wiki.internal/prices", heading: "" };

  test("shows a public page with its title and URL", () => {
    const shown = { title: "Delivery", url: page.url };
    expect([toShownSource(page, "links"), toShownSource(page, "all")]).toEqual([shown, shown]);
    expect(toShownSource({ ...page, source: "How we deliver" }, "links")).toEqual({
      title: "How we deliver",
      url: page.url,
    });
    expect(toShownSource({ ...page, heading: "" }, "links")).toEqual({ title: page.url, url: page.url });
  });

  test("shows other documents only with all, without a URL", () => {
    expect([toShownSource(file, "links"), toShownSource(wiki, "links")]).toEqual([undefined, undefined]);
    expect(toShownSource(file, "all")).toEqual({ title: "internal/prices.pdf", url: "" });
    expect(toShownSource(wiki, "all")).toEqual({ title: "http://wiki.internal/prices", url: "" });
  });

  test("shortens a long title", () => {
    const { title } = toShownSource({ ...page, heading: "😀".repeat(300) }, "links") ?? { title: "" };
    expect([...title]).toHaveLength(200);
    expect(title.endsWith("😀…")).toBe(true);
  });
});
