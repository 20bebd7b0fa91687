import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { RpcError, status } from "@parley/rpc";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { HttpError } from "../http/index.ts";
import { logoRoute } from "./logo.route.ts";

const IMAGE = Buffer.from("an image");
const HASH = createHash("sha256").update(IMAGE).digest("hex");

/** Builds an edge with the logo route. `requested` has the hashes that it looked up. */
function buildEdge(getLogo: (hash: string) => Promise<{ contentType: string; content: Uint8Array }>) {
  const requested: string[] = [];
  const app = Fastify({ exposeHeadRoutes: false });
  onTestFinished(() => app.close());
  app.setErrorHandler((error, _, reply) => {
    const { status: code = 500, code: detail } = error as HttpError;
    return reply.code(code).send({ detail });
  });
  const conversation = {
    getLogo: ({ hash = "" }) => {
      requested.push(hash);
      return getLogo(hash);
    },
  };
  logoRoute(app, { conversation } as unknown as Parameters<typeof logoRoute>[1]);
  return { get: (hash: string) => app.inject(`/widget/logos/${hash}`), app, requested };
}

const unknown = () => Promise.reject(new RpcError(status.NOT_FOUND, "logo_not_found", "no such logo"));

test("serves a logo as an image that browsers cache for long and never run, and asks for it once", async () => {
  const { get, app, requested } = buildEdge(async () => ({ contentType: "image/png", content: IMAGE }));
  const [first, second] = [await get(HASH), await get(HASH)];
  expect(first.statusCode).toBe(200);
  expect(first.rawPayload).toEqual(IMAGE);
  expect(first.headers).toMatchObject({
    "content-type": "image/png",
    "content-length": String(IMAGE.length),
    "content-disposition": 'attachment; filename="logo.png"',
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",
  });
  expect(second.rawPayload).toEqual(IMAGE);
  const head = await app.inject({ method: "HEAD", url: `/widget/logos/${HASH}` });
  expect([head.statusCode, head.headers["content-type"], head.body]).toEqual([200, "image/png", ""]);
  expect(requested).toEqual([HASH]);
});

test.each(["x", HASH.toUpperCase(), `${HASH}0`, "..%2fconfig"])("answers 404 to %s without a call", async (hash) => {
  const { get, requested } = buildEdge(unknown);
  expect((await get(hash)).statusCode).toBe(404);
  expect(requested).toEqual([]);
});

test("answers 404 to an unknown hash, and remembers it", async () => {
  const { get, requested } = buildEdge(unknown);
  for (let times = 0; times < 3; times++) expect((await get(HASH)).statusCode).toBe(404);
  expect(requested).toEqual([HASH]);
});

test("never serves another type than an image", async () => {
  const { get } = buildEdge(async () => ({ contentType: "image/svg+xml", content: IMAGE }));
  expect((await get(HASH)).statusCode).toBe(404);
});

test("answers 503 if the service does not answer, and to more than ten lookups at once", async () => {
  const failing = buildEdge(() => Promise.reject(new RpcError(status.UNAVAILABLE, "unavailable", "down")));
  expect((await failing.get(HASH)).statusCode).toBe(503);
  const waiting = Promise.withResolvers<{ contentType: string; content: Uint8Array }>();
  const { get, requested } = buildEdge(() => waiting.promise);
  const pending = Array.from({ length: 12 }, (_, at) => get(createHash("sha256").update(`${at}`).digest("hex")));
  await expect.poll(() => requested.length).toBe(10);
  waiting.resolve({ contentType: "image/gif", content: IMAGE });
  const codes = (await Promise.all(pending)).map(({ statusCode }) => statusCode);
  expect(codes.filter((code) => code === 200)).toHaveLength(10);
  expect(codes.filter((code) => code === 503)).toHaveLength(2);
});
