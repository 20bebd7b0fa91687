import { ChannelCredentials, Client, Server, type ServerWritableStream } from "@grpc/grpc-js";
import { startTcpProxy } from "@parley/test-support";
import { afterEach, expect, test } from "vitest";
import { listen } from "../testing/listen.ts";

// Tests patches/@grpc__grpc-js. A server sends GOAWAY on a connection that has reached its maximum age. The connection's streams then continue, and
// keepalive still checks the connection.
const MAX_CONNECTION_AGE_MS = 200;
/** The timeout is long, because a busy machine may stall this process, in which both peers run. */
const KEEPALIVE = { "grpc.keepalive_time_ms": 100, "grpc.keepalive_timeout_ms": 2_000 };
const TOKENS = 60;
const TOKEN_INTERVAL_MS = 20;

const passThrough = (value: Buffer) => value;
const method = {
  path: "/parley.test/Count",
  requestStream: false,
  responseStream: true,
  requestSerialize: passThrough,
  requestDeserialize: passThrough,
  responseSerialize: passThrough,
  responseDeserialize: passThrough,
} as const;

const closers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startServer(options: Record<string, number>) {
  const server = new Server({ ...KEEPALIVE, ...options });
  server.addService(
    { count: method },
    {
      count(call: ServerWritableStream<Buffer, Buffer>) {
        let tokens = 0;
        const timer = setInterval(() => {
          call.write(Buffer.from(String(++tokens)));
          if (tokens < TOKENS) return;
          call.end();
          clearInterval(timer);
        }, TOKEN_INTERVAL_MS);
        call.on("cancelled", () => clearInterval(timer));
      },
    },
  );
  closers.push(() => server.forceShutdown());
  return { server, port: await listen(server) };
}

function startStream(port: number) {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), KEEPALIVE);
  closers.push(() => client.close());
  const deadline = Date.now() + 10_000;
  const call = client.makeServerStreamRequest(method.path, passThrough, passThrough, Buffer.alloc(0), { deadline });
  let tokens = 0;
  call.on("data", () => tokens++);
  const ended = new Promise<string>((resolve) => {
    call.on("error", (error) => resolve(error.message));
    call.on("end", () => resolve("complete"));
  });
  return { tokens: () => tokens, ended };
}

test("a stream continues after its connection has reached its maximum age", async () => {
  const { port } = await startServer({
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": 10_000,
  });
  const stream = startStream(port);
  expect(await stream.ended).toBe("complete");
  expect(stream.tokens()).toBe(TOKENS);
});

test("a server that shuts down waits for its streams", async () => {
  const { server, port } = await startServer({});
  const stream = startStream(port);
  await expect.poll(stream.tokens).toBeGreaterThan(0);
  const shutDown = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  expect(await stream.ended).toBe("complete");
  expect(stream.tokens()).toBe(TOKENS);
  await shutDown;
});

test("keepalive ends a stream if the peer stops answering after the connection has reached its maximum age", async () => {
  const { port } = await startServer({
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": 10_000,
  });
  const wire = await startTcpProxy({ targetPort: port });
  closers.push(() => wire.close());
  const stream = startStream(wire.port);
  // Waits until the connection is older than its maximum age.
  const tokensAtMaxAge = MAX_CONNECTION_AGE_MS / TOKEN_INTERVAL_MS;
  await expect.poll(stream.tokens, { interval: 10 }).toBeGreaterThan(tokensAtMaxAge + 10);
  wire.stall();
  // If the call's deadline of 10 s ended the stream, the status would be DEADLINE_EXCEEDED.
  expect(await stream.ended).toMatch(/UNAVAILABLE/);
});
