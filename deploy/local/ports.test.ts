import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { freePorts } from "@parley/test-support";
import { afterEach, describe, expect, it } from "vitest";
import { assertPortsFree, PORT_COUNT, portsFrom } from "./ports.ts";

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
  ])("names a taken port, what it is for, and what else to take: PORT+%i", async (offset, purpose) => {
    const [first = 0] = await freePorts(PORT_COUNT);
    await holdPort(first + offset);
    await expect(assertPortsFree(portsFrom(first), "0.0.0.0", 0)).rejects.toThrow(
      `port ${first + offset}, for ${purpose}, is taken: end the program that has it, or take other ports with PORT=${first + 100}`,
    );
  });

  it("leaves the database's port to the database, which may still be there", async () => {
    const [first = 0] = await freePorts(PORT_COUNT);
    await holdPort(first + 8);
    await assertPortsFree(portsFrom(first), "0.0.0.0", 0);
  });

  it("waits for a port that is about to be given back", async () => {
    const [first = 0] = await freePorts(PORT_COUNT);
    const server = await holdPort(first + 1);
    const free = assertPortsFree(portsFrom(first), "0.0.0.0", 10_000);
    server.close();
    await free;
  });
});
