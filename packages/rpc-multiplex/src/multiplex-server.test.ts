import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ChannelCredentials, Client, Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import {
  type CallContext,
  type Interceptor,
  implementService,
  type ServiceImplementation,
  toMethodDefinition,
} from "@parley/rpc";
import {
  type AnswerFrame,
  type CallFrameSchema,
  CallsService,
  type MultiplexRequest,
  MultiplexRequestSchema,
  type MultiplexResponse,
} from "@parley/rpc/calls";
import { NIL_UUID } from "@parley/rpc/formats";
import { QuotaService, ReserveRequestSchema } from "@parley/rpc/quota";

import { afterEach, expect, test } from "vitest";
import { serveMultiplexed } from "./multiplex-server.ts";

// These tests write frames without MultiplexClient, because it sends only valid frames.

type Frame = MessageInitShape<typeof CallFrameSchema>;

const METHOD = "parley.quota.v1.QuotaService/Reserve";
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Starts a server whose Reserve returns `plan`, or never returns for the workspace "stuck". `calls` are the calls that it received. */
async function startServer({ plan = "" } = {}) {
  const calls: CallContext[] = [];
  const record: Interceptor = (context, next) => {
    calls.push(context);
    return next();
  };
  const server = new Server();
  const reserve = async ({ workspaceId }: { workspaceId: string }) =>
    workspaceId === "stuck" ? new Promise(() => undefined) : { plan };
  const implementation = { reserve } as unknown as ServiceImplementation<typeof QuotaService>;
  const methods = implementService(server, QuotaService, implementation, record);
  serveMultiplexed(server, methods, (metadata) => metadata.get("authorization")[0] === "good");
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  closers.push(() => server.forceShutdown());
  return { calls, open: (token?: string) => openStream(port, token) };
}

function openStream(port: number, token = "good") {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
    "grpc.max_receive_message_length": 32 * 1024 * 1024,
  });
  closers.push(() => client.close());
  const { path, requestSerialize, responseDeserialize } = toMethodDefinition(CallsService.method.multiplex);
  const serialize = (message: MultiplexRequest | Buffer) => ("frames" in message ? requestSerialize(message) : message);
  const metadata = new Metadata();
  metadata.set("authorization", token);
  const stream = client.makeBidiStreamRequest(path, serialize, responseDeserialize, metadata);
  const received: AnswerFrame[] = [];
  stream.on("data", ({ frames }: MultiplexResponse) => received.push(...frames));
  stream.on("error", () => undefined);
  return {
    received,
    ended: new Promise<status>((resolve) => stream.on("status", ({ code }) => resolve(code))),
    send: (...frames: Frame[]) => stream.write(create(MultiplexRequestSchema, { frames })),
    sendBytes: (bytes: Buffer) => stream.write(bytes),
    end: () => stream.end(),
  };
}

type BeginFields = { method?: string; metadata?: Record<string, string>; request?: Uint8Array };

const encodeRequest = (workspaceId: string) =>
  toBinary(ReserveRequestSchema, create(ReserveRequestSchema, { workspaceId, turnId: NIL_UUID }));

const begin = (callId: number, fields: BeginFields = {}): Frame => ({
  callId,
  step: { case: "begin", value: { method: METHOD, timeoutMs: 5_000, request: encodeRequest("ws"), ...fields } },
});

test.each([
  ["an invalid header name", { "bad key": "x" }],
  ["an invalid header value", { trace: "\u0100" }],
  ["a text value for a binary header", { "trace-bin": "x" }],
])("metadata with %s fails only its own call", async (_, metadata) => {
  const stream = (await startServer()).open();
  stream.send(begin(1, { metadata }), begin(2));
  await expect.poll(() => stream.received.length).toBe(2);
  const [bad, good] = stream.received.toSorted((a, b) => a.callId - b.callId);
  expect(bad?.end).toMatchObject({ status: status.INVALID_ARGUMENT, code: "invalid_argument" });
  expect(good?.end).toMatchObject({ status: status.OK });
});

test("an unknown method fails only its own call", async () => {
  const stream = (await startServer()).open();
  stream.send(begin(1, { method: "parley.quota.v1.QuotaService/Nothing" }), begin(2));
  await expect.poll(() => stream.received.length).toBe(2);
  expect(stream.received.map(({ end }) => end?.status).toSorted((a = 0, b = 0) => a - b)).toEqual([
    status.OK,
    status.UNIMPLEMENTED,
  ]);
});

test("refuses a stream with a wrong token and runs none of its calls", async () => {
  const server = await startServer();
  const stream = server.open("guess");
  stream.send(begin(1), begin(2));
  expect(await stream.ended).toBe(status.UNAUTHENTICATED);
  expect(server.calls).toEqual([]);
  expect(stream.received).toEqual([]);
});

test("ignores unknown steps, and steps of calls that do not exist", async () => {
  const stream = (await startServer()).open();
  stream.send(
    begin(1),
    { callId: 1 },
    { callId: 7, step: { case: "cancel", value: {} } },
    { callId: 8, step: { case: "takenBytes", value: 9 } },
  );
  await expect.poll(() => stream.received.length).toBe(1);
  expect(stream.received[0]?.end).toMatchObject({ status: status.OK });
  stream.end();
  expect(await stream.ended).toBe(status.OK);
});

test("a response above the size limit fails only its own call", async () => {
  const stream = (await startServer({ plan: "x".repeat(16 * 1024 * 1024) })).open();
  stream.send(begin(1));
  await expect.poll(() => stream.received.length, { timeout: 5_000 }).toBe(1);
  expect(stream.received[0]?.end).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
  stream.send(begin(2, { method: "nothing" }));
  await expect.poll(() => stream.received.length).toBe(2);
});

test.each([
  ["a truncated frame", "0a05"],
  ["a length beyond the end of its frame", "0a0208ff"],
  ["text that is not UTF-8", "0a0708011203" + "0a01ff"],
])("%s ends the stream and aborts its calls, and the server keeps serving", async (_, hex) => {
  const server = await startServer();
  const stream = server.open();
  stream.send(begin(1, { request: encodeRequest("stuck") }));
  await expect.poll(() => server.calls.length).toBe(1);
  stream.sendBytes(Buffer.from(hex, "hex"));
  expect(await stream.ended).toBe(status.INTERNAL);
  await expect.poll(() => server.calls[0]?.signal.aborted).toBe(true);
  const next = server.open();
  next.send(begin(1));
  await expect.poll(() => next.received.length).toBe(1);
  expect(next.received[0]?.end).toMatchObject({ status: status.OK });
});
