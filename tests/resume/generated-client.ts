import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@hey-api/openapi-ts";
import { build } from "esbuild";
import { root } from "../system/processes.ts";

type ChatBody = { public_key: string; session_id: string; message: string };

/** The functions of docs/retries.md that use the generated client. */
export type RetryExamples = {
  readReply(body: ChatBody, idempotencyKey: string): Promise<string>;
  readReplyOnce(body: ChatBody): Promise<string>;
};

const BASE_URL = "http://localhost:8080";

async function readDocument(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
}

/**
 * Generates a client from openapi.json with Hey API, and bundles it with the examples of docs/retries.md. Returns the examples' functions.
 * @param edit changes an example's code
 */
export async function buildRetryExamples(
  url: string,
  edit: (code: string) => string = (code) => code,
): Promise<RetryExamples> {
  const page = await readFile(join(root, "docs/retries.md"), "utf8");
  const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  if (examples.some((code) => !code.includes(BASE_URL))) throw new Error(`an example does not use ${BASE_URL}`);
  const dir = await mkdtemp(join(tmpdir(), "parley-generated-client-"));
  try {
    await createClient({
      input: await readDocument(url),
      output: join(dir, "parley"),
      logs: { level: "silent" },
    });
    const modules = examples.map((code, index) => ({
      path: join(dir, `example-${index}.ts`),
      code: edit(code.replaceAll(BASE_URL, url)),
    }));
    for (const { path, code } of modules) await writeFile(path, code);
    const contents = modules.map(({ path }) => `export * from ${JSON.stringify(path)};`).join("\n");
    const outfile = join(dir, "examples.mjs");
    const options = { bundle: true, format: "esm", platform: "node", outfile } as const;
    await build({ stdin: { contents, resolveDir: dir }, ...options });
    return (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as RetryExamples;
  } finally {
    await rm(dir, { recursive: true });
  }
}
