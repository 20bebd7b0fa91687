import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { SourceSchema } from "@parley/rpc/conversation";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AdminError } from "../../admin/call.ts";
import type { Context } from "../../context.ts";
import { addDocuments } from "./knowledge-add.ts";

const FILES = ["first.md", "busy.md", "second.md", "down.md", "third.md"];
const ERRORS: Readonly<Record<string, AdminError>> = {
  "busy.md": new AdminError("too_many_documents", "try later", new ConnectError("", Code.ResourceExhausted)),
  "down.md": new AdminError("unreachable", "conversation does not answer", new ConnectError("", Code.Unavailable)),
};

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-documents-"));
  for (const file of FILES) await writeFile(join(dir, file), "Text.\n");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Creates a context whose service fails for the documents in ERRORS. */
function createContext() {
  const printedErrors: string[] = [];
  const addSource = async ({ name }: { name: string }) => {
    const error = ERRORS[name];
    if (error !== undefined) throw error;
    return { source: create(SourceSchema, { name, format: "md", chunks: 1 }) };
  };
  const context = {
    config: { filesDir: dir },
    callAdmin: (_: unknown, call: (client: unknown) => unknown) => call({ addSource }),
    progress: () => undefined,
    printError: (message: string) => printedErrors.push(message),
  } as unknown as Context;
  return { context, printedErrors };
}

it("addDocuments continues if the service's document queue is full, stops if the service is unreachable, and returns the results so far", async () => {
  const { context, printedErrors } = createContext();
  const documents = { workspaceId: "w", botSlug: "b", files: FILES, urls: [], language: "" };
  const result = await addDocuments(context, documents);
  expect(printedErrors).toEqual(["busy.md: try later", "down.md: conversation does not answer"]);
  expect(result.exitCode).toBe(1);
  expect(result.text).toMatch(
    /^NAME .*\nfirst\.md .*\nsecond\.md .*\nAdded 2 of 5 documents\. Failed: 2\. Not tried: 1\.\n$/,
  );
  expect(result.json).toEqual([
    expect.objectContaining({ name: "first.md" }),
    { name: "busy.md", error: "try later" },
    expect.objectContaining({ name: "second.md" }),
    { name: "down.md", error: "conversation does not answer" },
  ]);
});

it("addDocuments refuses two files that would become documents of the same name, because the second would replace the first", async () => {
  const { context } = createContext();
  const files = [join(dir, "first.md"), "/elsewhere/first.md"];
  await expect(
    addDocuments(context, { workspaceId: "w", botSlug: "b", files, urls: [], language: "" }),
  ).rejects.toThrow(`${files[0]} and ${files[1]} would both be named first.md: give relative paths, or rename one`);
});
