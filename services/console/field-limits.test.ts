import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const PAGE = join(import.meta.dirname, "page");

/** The limits that no field of a proto has: the length of a colour, and of texts that the form puts together into one field. */
const OWN_LIMITS = [
  "components/field.tsx: maxLength={7}",
  "knowledge/add-text.tsx: maxLength={100_000}",
  "tools/values.tsx: maxLength={64}",
  "tools/values.tsx: maxLength={500}",
];

test("forms take the limits of their fields from the protos", async () => {
  const found: string[] = [];
  for await (const path of glob("**/*.tsx", { cwd: PAGE })) {
    const source = await readFile(join(PAGE, path), "utf8");
    found.push(...[...source.matchAll(/\bmaxLength=\{[\d_]+\}/g)].map(([limit]) => `${path}: ${limit}`));
  }
  expect(found.toSorted()).toEqual(OWN_LIMITS.toSorted());
});
