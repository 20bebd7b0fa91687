import { createHash } from "node:crypto";
import { GOODS, TERMS } from "@parley/sample-shop/goods";
import type { Document } from "./documentation.ts";

/** Returns the sample shop's goods and terms as a knowledge document for the demo bot. */
export function buildShopDocument(): Document {
  const goods = GOODS.map(
    ({ name, price, about }) => `## ${name}\n\nThe ${name.toLowerCase()} costs ${price}. ${about}\n`,
  );
  const list = GOODS.map(({ name, price }) => `${name.toLowerCase()} (${price})`).join(", ");
  const terms = TERMS.map(([question, answer]) => `## ${question}\n\n${answer}\n`);
  const text = [
    "# The sample shop's goods",
    `The sample shop sells things for the home: ${list}. It is only a sample: nothing can be bought.`,
    ...goods,
    "# The sample shop's delivery and returns",
    ...terms,
  ].join("\n\n");
  const content = new TextEncoder().encode(text);
  return { name: "sample shop", content, digest: createHash("sha256").update(content).digest("hex") };
}
