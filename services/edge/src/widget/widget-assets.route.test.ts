import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { widgetAssetRoutes } from "./widget-assets.route.ts";

const URL_PATH = "/widget/manifest.json";
const ENCODINGS = ["br", "gzip", "identity"] as const;
const app: FastifyInstance = Fastify();
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-assets-"));
  const manifest = JSON.stringify({ modules: {}, files: {} });
  await writeFile(join(directory, "manifest.json"), manifest);
  await writeFile(join(directory, "manifest.json.br"), brotliCompressSync(manifest));
  await writeFile(join(directory, "manifest.json.gz"), gzipSync(manifest));
  await widgetAssetRoutes(app, directory);
});
afterAll(async () => {
  await app.close();
  await rm(directory, { recursive: true });
});

const get = (encoding: string, ifNoneMatch?: string) =>
  app.inject({
    url: URL_PATH,
    headers: { "accept-encoding": encoding, ...(ifNoneMatch !== undefined && { "if-none-match": ifNoneMatch }) },
  });
const etagOf = async (encoding: string) => String((await get(encoding)).headers.etag);

test("each content encoding has its own ETag", async () => {
  expect(new Set(await Promise.all(ENCODINGS.map(etagOf))).size).toBe(3);
});

test.each<[string, (etag: string) => string]>([
  ["the ETag", (etag) => etag],
  ["the weak form of the ETag", (etag) => `W/${etag}`],
  ["a list that contains the ETag", (etag) => `"a", W/"b,c" ,${etag}`],
  ["a list without spaces that contains the ETag", (etag) => `"a",${etag},"b"`],
  ["*", () => "*"],
])("If-None-Match with %s gets 304 with the ETag and Vary in every encoding", async (_, header) => {
  for (const encoding of ENCODINGS) {
    const etag = await etagOf(encoding);
    const { statusCode, headers, body } = await get(encoding, header(etag));
    expect([statusCode, headers.etag, headers.vary, body]).toEqual([304, etag, "Accept-Encoding", ""]);
  }
});

test.each(["", "x", '"x"', 'W/"x"', '"*"', "**", '"', ","])("If-None-Match %j gets 200", async (header) => {
  expect((await get("br", header)).statusCode).toBe(200);
});

test("the ETag of another encoding gets 200", async () => {
  expect((await get("gzip", await etagOf("br"))).statusCode).toBe(200);
});
