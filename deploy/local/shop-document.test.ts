import { createHash } from "node:crypto";
import { GOODS, TERMS } from "@parley/sample-shop/goods";
import { expect, it } from "vitest";
import { buildShopDocument } from "./shop-document.ts";

it("the shop document contains all goods and terms of the shop's pages", () => {
  const text = new TextDecoder().decode(buildShopDocument().content);
  for (const { name, price, about } of GOODS)
    expect(text).toContain(`## ${name}\n\nThe ${name.toLowerCase()} costs ${price}. ${about}`);
  for (const [question, answer] of TERMS) expect(text).toContain(`## ${question}\n\n${answer}`);
});

it("the shop document's digest is the SHA-256 of its content", () => {
  const { content, digest } = buildShopDocument();
  expect(digest).toBe(createHash("sha256").update(content).digest("hex"));
});
