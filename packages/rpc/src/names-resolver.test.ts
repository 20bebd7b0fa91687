import { promises as dns } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:net";
import { type Client, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openChannel } from "./channel.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const identity = (value: Buffer) => value;

/** Starts a server whose only method returns `host`. Resolves with the server's address, `host:port`. */
async function startPeer(host: string, port = 0): Promise<string> {
  const server = new Server();
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error ? reject(error) : resolve(at),
    ),
  );
  const definition = {
    path: "/test.Peer/Address",
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
  server.addService(
    { address: definition },
    { address: (_: unknown, callback: Callback) => callback(null, Buffer.from(host)) },
  );
  cleanUps.push(() => server.forceShutdown());
  return `${host}:${bound}`;
}

type Callback = (error: null, value: Buffer) => void;

/** Returns a port of `host` on which nothing listens. */
async function closedPort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

function connect(target: string): Client {
  const channel = openChannel({ target, retryable: [] });
  cleanUps.push(() => channel.close());
  return channel;
}

/** Resolves with the host of the server that received the call. */
function call(channel: Client): Promise<string> {
  return new Promise((resolve, reject) =>
    channel.makeUnaryRequest(
      "/test.Peer/Address",
      identity,
      identity,
      Buffer.alloc(0),
      { deadline: Date.now() + 5_000 },
      (error, value) => (error ? reject(error) : resolve(String(value))),
    ),
  );
}

describe("a channel whose target has several names", () => {
  test("calls the server of the second name while the first name's address refuses connections", async () => {
    const peer = await startPeer("127.0.0.1");
    const channel = connect(`names:///127.0.0.2:${await closedPort("127.0.0.2")},${peer}`);
    for (let count = 0; count < 20; count++) expect(await call(channel)).toBe("127.0.0.1");
  });

  test("retries a failed lookup of one name until it succeeds, although the other name has an address", async () => {
    const first = await startPeer("127.0.0.1");
    const second = await startPeer("127.0.0.2");
    const originalLookup = dns.lookup;
    let failures = 1;
    const lookup = vi.spyOn(dns, "lookup").mockImplementation((async (host: string, options: object) => {
      if (host !== "headless.test") return originalLookup(host, options);
      if (failures-- > 0) throw new Error("the name server does not respond");
      return [{ address: "127.0.0.2", family: 4 }];
    }) as never);
    cleanUps.push(() => lookup.mockRestore());
    const channel = connect(`names:///headless.test:${second.split(":")[1]},${first}`);
    await expect.poll(() => call(channel)).toBe("127.0.0.2");
    const lookups = lookup.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(lookup.mock.calls.length - lookups).toBeLessThanOrEqual(1);
  });

  test("calls the server of the second name while the first name does not resolve", async () => {
    const peer = await startPeer("127.0.0.1");
    const channel = connect(`names:///nowhere.invalid:9000,${peer}`);
    expect(await call(channel)).toBe("127.0.0.1");
  });

  test("spreads its calls over the addresses of all names", async () => {
    const first = await startPeer("127.0.0.1");
    const second = await startPeer("127.0.0.2");
    const channel = connect(`names:///${first},${second}`);
    const countCallsToFirst = async () => {
      const all = await Promise.all(Array.from({ length: 20 }, () => call(channel)));
      return all.filter((each) => each === "127.0.0.1").length;
    };
    await expect.poll(countCallsToFirst).toBe(10);
  });

  test("fails with UNAVAILABLE when no name resolves", async () => {
    const channel = connect("names:///nowhere.invalid:9000,neither.invalid:9000");
    await expect(call(channel)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  test("continues on the other names when the server behind one name stops", async () => {
    const first = await startPeer("127.0.0.1");
    const channel = connect(`names:///${first},${await startPeer("127.0.0.2")}`);
    await call(channel);
    // Stops the second server. Its clean-up is the last but one; the last closes the channel.
    await cleanUps.splice(-2, 1)[0]?.();
    await expect.poll(async () => call(channel).catch(() => "failed")).toBe("127.0.0.1");
    for (let count = 0; count < 20; count++) expect(await call(channel)).toBe("127.0.0.1");
  });
});
