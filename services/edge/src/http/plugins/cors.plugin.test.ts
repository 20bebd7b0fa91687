import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { cors } from "./cors.plugin.ts";
import { errors } from "./errors.plugin.ts";
import { endpoint } from "./methods.plugin.ts";

test("an OPTIONS request that is no preflight gets 405 and counts as refused", async () => {
  const refused: string[] = [];
  const app = fastify();
  onTestFinished(() => app.close());
  await app.register(cors);
  await app.register(errors, {
    onRefusal: ({ code, route }) => refused.push(`${code} ${route}`),
    countMalformed: async () => undefined,
  });
  endpoint(app, { method: "POST", url: "/a", config: { cors: true }, handler: async () => ({}) });
  const origin = "https://shop.example";
  const response = await app.inject({ method: "OPTIONS", url: "/a", headers: { origin } });
  expect([response.statusCode, response.json()]).toEqual([405, { error: "method_not_allowed" }]);
  expect(response.headers).toMatchObject({
    allow: "POST, OPTIONS",
    "cache-control": "no-store",
    "access-control-allow-origin": origin,
  });
  expect(refused).toEqual(["method_not_allowed /a"]);
  const headers = { origin, "access-control-request-method": "POST" };
  expect((await app.inject({ method: "OPTIONS", url: "/a", headers })).statusCode).toBe(204);
  expect(refused).toHaveLength(1);
});
