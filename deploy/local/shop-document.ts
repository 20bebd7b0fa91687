import { readFile } from "node:fs/promises";
import { GOODS, TERMS } from "@parley/sample-shop/goods";
import { type Document, toDocument } from "./documentation.ts";

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
  return toDocument("sample shop", new TextEncoder().encode(text));
}

/** The sample shop and the first questions about Parley in other languages, by the name of the document. The folder `knowledge` has them. */
const TRANSLATIONS = { Beispielladen: "beispielladen.md", "Boutique d'exemple": "boutique.md" };

/** Reads the demo bot's documents in German and French. */
export function readTranslations(): Promise<Document[]> {
  return Promise.all(
    Object.entries(TRANSLATIONS).map(async ([name, file]) =>
      toDocument(name, new Uint8Array(await readFile(new URL(`knowledge/${file}`, import.meta.url)))),
    ),
  );
}
