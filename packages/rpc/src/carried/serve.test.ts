import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ChannelCredentials, Client, Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { methodDefinition } from "../definition.ts";
import {
  type AnswerFrame,
  type CallFrameSchema,
  CallsService,
  CarryRequestSchema,
  type CarryResponse,
} from "../gen/parley/rpc/v1/calls_pb.js";
import { QuotaService } from "../quota.ts";
import { type Interceptor, implementService, type ServiceImplementation } from "../server.ts";

// What no client of ours says, but anyone could who reaches the port.

type Frame = MessageInitShape<typeof CallFrameSchema>;

const METHOD = "parley.quota.v1.QuotaService/GetUsage";
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Opens a stream to a server that answers GetUsage with this plan, and tells what is said on it. */
async function openStream({ token = "good", plan = "" } = {}) {
  const calls: string[] = [];
  const see: Interceptor = (context, next) => {
    calls.push(context.method);
    return next();
  };
  const admits = (metadata: Metadata) => metadata.get("authorization")[0] === "good";
  const server = new Server();
  const implementation = { getUsage: async () => ({ plan }) } as unknown as ServiceImplementation<typeof QuotaService>;
  implementService(server, QuotaService, implementation, Object.assign(see, { admits }));
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
    "grpc.max_receive_message_length": 32 * 1024 * 1024,
  });
  closers.push(
    () => client.close(),
    () => server.forceShutdown(),
  );
  const { path, requestSerialize, responseDeserialize } = methodDefinition(CallsService.method.carry);
  const metadata = new Metadata();
  metadata.set("authorization", token);
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  const heard: AnswerFrame[] = [];
  stream.on("data", ({ frames }: CarryResponse) => heard.push(...frames));
  stream.on("error", () => undefined);
  const ended = new Promise<status>((resolve) => stream.on("status", ({ code }) => resolve(code)));
  const say = (...frames: Frame[]) => stream.write(create(CarryRequestSchema, { frames }));
  return { say, heard, ended, calls, end: () => stream.end() };
}

const begin = (callId: number, more: { method?: string; metadata?: Record<string, string> } = {}): Frame => ({
  callId,
  step: { case: "begin", value: { method: METHOD, timeoutMs: 5_000, ...more } },
});

test.each([
  ["a name that no header may have", { "bad key": "x" }],
  ["a value that no header may have", { trace: "\u0100" }],
  ["a binary header as text", { "trace-bin": "x" }],
])("metadata of %s is that call's failure alone", async (_, metadata) => {
  const stream = await openStream();
  stream.say(begin(1, { metadata }), begin(2));
  await expect.poll(() => stream.heard.length).toBe(2);
  const [bad, good] = stream.heard.toSorted((a, b) => a.callId - b.callId);
  expect(bad?.end).toMatchObject({ status: status.INVALID_ARGUMENT, code: "invalid_argument" });
  expect(good?.end).toMatchObject({ status: status.OK });
});

test("a method that nobody has is that call's failure alone", async () => {
  const stream = await openStream();
  stream.say(begin(1, { method: "parley.quota.v1.QuotaService/Nothing" }), begin(2));
  await expect.poll(() => stream.heard.length).toBe(2);
  expect(stream.heard.map(({ end }) => end?.status).toSorted((a = 0, b = 0) => a - b)).toEqual([
    status.OK,
    status.UNIMPLEMENTED,
  ]);
});

test("of who may not call nothing is read", async () => {
  const stream = await openStream({ token: "guess" });
  stream.say(begin(1), begin(2));
  expect(await stream.ended).toBe(status.UNAUTHENTICATED);
  expect(stream.calls).toEqual([]);
  expect(stream.heard).toEqual([]);
});

test("a step that a later version may know changes nothing, nor does one of a call that is not there", async () => {
  const stream = await openStream();
  stream.say(
    begin(1),
    { callId: 1 },
    { callId: 7, step: { case: "cancel", value: {} } },
    { callId: 8, step: { case: "takenBytes", value: 9 } },
  );
  await expect.poll(() => stream.heard.length).toBe(1);
  expect(stream.heard[0]?.end).toMatchObject({ status: status.OK });
  stream.end();
  expect(await stream.ended).toBe(status.OK);
});

test("a response that is too large for a message is that call's failure alone", async () => {
  const stream = await openStream({ plan: "x".repeat(16 * 1024 * 1024) });
  stream.say(begin(1));
  await expect.poll(() => stream.heard.length, { timeout: 5_000 }).toBe(1);
  expect(stream.heard[0]?.end).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
  stream.say(begin(2, { method: "nothing" }));
  await expect.poll(() => stream.heard.length).toBe(2);
});
