import { createHash } from "node:crypto";
import { GOODS, TERMS } from "@parley/sample-shop/goods";
import { expect, it } from "vitest";
import { buildShopDocument, readTranslations } from "./shop-document.ts";

it("the shop document contains all goods and terms of the shop's pages", () => {
  const text = new TextDecoder().decode(buildShopDocument().content);
  for (const { name, price, about } of GOODS)
    expect(text).toContain(`## ${name}\n\nThe ${name.toLowerCase()} costs ${price}. ${about}`);
  for (const [question, answer] of TERMS) expect(text).toContain(`## ${question}\n\n${answer}`);
});

it("the documents in other languages have the price of each of the goods and answer each of the questions", async () => {
  for (const { content } of await readTranslations()) {
    const text = new TextDecoder().decode(content).replaceAll(",", ".");
    for (const { price } of GOODS) expect(text).toContain(`| ${price} |`);
    for (const part of ["4.90", "50.00", "30 "]) expect(text).toContain(part);
  }
});

it("the shop document's digest is the SHA-256 of its content", () => {
  const { content, digest } = buildShopDocument();
  expect(digest).toBe(createHash("sha256").update(content).digest("hex"));
});
