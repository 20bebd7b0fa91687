import { setTimeout as sleep } from "node:timers/promises";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { errors } from "./errors.plugin.ts";
import { overload } from "./overload.plugin.ts";

async function startServer() {
  const app = fastify();
  let refused = 0;
  await app.register(overload, { onRefused: () => refused++ });
  await app.register(errors, { onRefusal: () => undefined, countMalformed: async () => undefined });
  app.get("/", { onRequest: app.refuseIfOverloaded }, async () => "hello");
  onTestFinished(() => app.close());
  const get = async () => {
    const { statusCode, headers, body } = await app.inject("/");
    return [statusCode, headers["retry-after"], body];
  };
  return { get, refused: () => refused };
}

/** Blocks the event loop for 150 ms in each of its iterations. */
function slowDown(): () => void {
  const timer = setInterval(() => {
    const startedAt = performance.now();
    while (performance.now() - startedAt < 150);
  }, 1);
  onTestFinished(() => clearInterval(timer));
  return () => clearInterval(timer);
}

test("refuses with 503 and Retry-After while the event loop is late for long, and not after that", async () => {
  const { get, refused } = await startServer();
  expect(await get()).toEqual([200, undefined, "hello"]);
  const recover = slowDown();
  await expect.poll(get, { timeout: 20_000 }).toEqual([503, "5", '{"error":"overloaded"}']);
  expect(refused()).toBe(1);
  recover();
  await expect.poll(get).toEqual([200, undefined, "hello"]);
});

test("neither a single pause nor a second of work is an overload", async () => {
  const { get, refused } = await startServer();
  const startedAt = performance.now();
  while (performance.now() - startedAt < 600);
  expect((await get())[0]).toBe(200);
  const recover = slowDown();
  await sleep(1_000);
  recover();
  for (let n = 0; n < 20; n++) {
    await sleep(50);
    expect((await get())[0]).toBe(200);
  }
  expect(refused()).toBe(0);
});
