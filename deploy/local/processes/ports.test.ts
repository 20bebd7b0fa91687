import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { freePorts } from "@parley/test-support";
import { afterEach, describe, expect, it } from "vitest";
import { assertPortsFree, assignPorts, PORT_COUNT } from "./ports.ts";

let holder: Server | undefined;
afterEach(() => {
  holder?.close();
  holder = undefined;
});

async function holdPort(port: number): Promise<Server> {
  holder = createServer().listen(port, "127.0.0.1");
  await once(holder, "listening");
  return holder;
}

describe("assertPortsFree", () => {
  it.each([
    [0, "the public address"],
    [5, "quota's ops port"],
    [9, "the sample shop"],
  ])("if PORT+%i is in use, names that port, its purpose and an alternative", async (offset, purpose) => {
    const [first = 0] = await freePorts(PORT_COUNT);
    await holdPort(first + offset);
    await expect(assertPortsFree(assignPorts(first), "localhost", 0)).rejects.toThrow(
      `port ${first + offset}, for ${purpose}, is in use: stop the program that uses it, or set PORT=${first + 100}`,
    );
  });

  it("checks both loopback addresses for the public port", async () => {
    const [first = 0] = await freePorts(PORT_COUNT);
    holder = createServer().listen(first, "::1");
    await once(holder, "listening");
    await expect(assertPortsFree(assignPorts(first), "localhost", 0)).rejects.toThrow("the public address, is in use");
    await assertPortsFree(assignPorts(first), "127.0.0.1", 0);
  });

  it("does not check the database's port, because the database may still be running", async () => {
    const [first = 0] = await freePorts(PORT_COUNT);
    await holdPort(first + 8);
    await assertPortsFree(assignPorts(first), "localhost", 0);
  });

  it("waits for a port that is about to become free", async () => {
    const [first = 0] = await freePorts(PORT_COUNT);
    const server = await holdPort(first + 1);
    const assertion = assertPortsFree(assignPorts(first), "localhost", 10_000);
    server.close();
    await assertion;
  });
});
