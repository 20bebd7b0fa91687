import Fastify from "fastify";
import { expect, test } from "vitest";
import { forwardedFor } from "./forwarded-for.plugin.ts";

/** Returns the client address that the edge reads from a trusted proxy's X-Forwarded-For, and how many addresses it counted as unreadable. */
async function read(header: string) {
  let unreadable = 0;
  const app = Fastify({ trustProxy: ["10.0.0.0/8"] });
  await app.register(forwardedFor, { unreadableAddresses: { inc: () => void unreadable++ } });
  app.get("/", async ({ ip }) => ip);
  const headers = header === "" ? {} : { "x-forwarded-for": header };
  const { body: address } = await app.inject({ url: "/", remoteAddress: "10.0.0.1", headers });
  return { address, unreadable };
}

test.each([
  ["203.0.113.9", "203.0.113.9"],
  ["203.0.113.9:4711", "203.0.113.9"],
  ["[2001:db8::9]:4711", "2001:db8::9"],
  ["[2001:db8::9]", "2001:db8::9"],
  ["2001:db8::9", "2001:db8::9"],
  ["198.51.100.1, 203.0.113.9:4711, 10.0.0.7:80", "203.0.113.9"],
  ["", "10.0.0.1"],
])("from the header %j, reads the client address %j", async (header, address) => {
  expect(await read(header)).toEqual({ address, unreadable: 0 });
});

test.each(["unknown", "203.0.113.9:", "[2001:db8::9", "203.0.113.9:1:2"])("counts %s as unreadable", async (header) => {
  expect((await read(header)).unreadable).toBe(1);
});
