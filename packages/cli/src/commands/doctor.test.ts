import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { parseOrigin, readVisitorToken } from "./doctor.ts";

it("parseOrigin returns the origin as browsers send it, and refuses a path, a query, a missing scheme and a file URL", () => {
  expect(parseOrigin("https://www.example.com")).toBe("https://www.example.com");
  expect(parseOrigin("https://WWW.Example.com:443")).toBe("https://www.example.com");
  expect(parseOrigin("http://localhost:8080")).toBe("http://localhost:8080");
  for (const text of ["https://www.example.com/shop", "https://www.example.com?x=1", "example.com", "file:///tmp"])
    expect(() => parseOrigin(text)).toThrow("without a path");
});

it("readVisitorToken reads a file, stdin for -, or the environment, without the line break, and refuses an empty file or stdin", async () => {
  const filesDir = await mkdtemp(join(tmpdir(), "parley-token-"));
  onTestFinished(() => rm(filesDir, { recursive: true }));
  await writeFile(join(filesDir, "token"), "of.the.file\n");
  await writeFile(join(filesDir, "empty"), "\n");
  const config = { filesDir, visitorToken: "of.the.environment\n" };
  const read = (file?: string, stdin = "of.stdin\n") =>
    readVisitorToken({ config, stdin: Readable.from([stdin]) }, file);
  expect(await read("token")).toBe("of.the.file");
  expect(await read("-")).toBe("of.stdin");
  expect(await read()).toBe("of.the.environment");
  await expect(read("empty")).rejects.toThrow("empty is empty");
  await expect(read("-", "\n")).rejects.toThrow("stdin has no visitor token");
});
