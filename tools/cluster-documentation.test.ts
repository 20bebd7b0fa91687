import { expect, test } from "vitest";
import { readBlocks } from "../tests/cluster/documentation.ts";
import { readTypeScript } from "./repository.ts";

/** Matches a call with a literal page and heading that reads code blocks of docs/install, such as `readBlock("cluster.md", "5. Install", "sh"`. */
const READ =
  /\b(readBlocks?|runDocumented|runDocumentedSql)\(\s*"(?<page>[\w-]+\.md)",\s*"(?<heading>[^"]*)"(?:,\s*"(?<language>\w+)")?/g;

test("each call with a literal heading in the cluster tests reads code blocks that exist in docs/install", async () => {
  const sources = (await readTypeScript()).filter(({ path }) => path.startsWith("tests/cluster/"));
  const reads = sources.flatMap(({ text }) => [...text.matchAll(READ)]);
  expect(reads.length).toBeGreaterThan(10);
  for (const [, method, page = "", heading = "", language] of reads) {
    const expected = language ?? (method === "runDocumentedSql" ? "sql" : "sh");
    await expect(readBlocks(page, heading, expected), `${page}, ${heading}`).resolves.not.toEqual([]);
  }
});
