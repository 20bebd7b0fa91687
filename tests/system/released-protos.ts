import { readFileSync } from "node:fs";
import { createFileRegistry, type DescMessage, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";

/** The protos of the last release: the baseline of `buf breaking`. */
const RELEASED = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(new URL("../../proto/released.binpb", import.meta.url))),
);

/** The encoded field 15000 with the value 1. No message has this field. */
const NEXT_FIELD = Buffer.from("c0a90701", "hex");

export type ReleasedProtosProxy = {
  /** The proxy's address, `host:port`. */
  target: string;
  /** Names of the methods that were called, such as `OpenTurn`. */
  calledMethods: ReadonlySet<string>;
  stop(): void;
};

/**
 * Starts a gRPC proxy that knows only the released protos. Its clients see a service of the last release, and the service behind it sees clients
 * of the last release. The proxy removes newer fields from requests and responses, and refuses newer methods with UNIMPLEMENTED. It also adds a
 * field that this version does not know to each message, as a peer of the next release may.
 */
export async function startReleasedProtosProxy(serviceName: string, target: string): Promise<ReleasedProtosProxy> {
  const service = RELEASED.getService(serviceName);
  if (service === undefined) throw new Error(`the released protos have no ${serviceName}`);
  const client = new Client(target, credentials.createInsecure());
  const server = new Server();
  const calledMethods = new Set<string>();
  const handlers: UntypedServiceImplementation = {};
  for (const method of service.methods) {
    handlers[method.name] = (call: ServerDuplexStream<Buffer, Buffer>) => {
      calledMethods.add(method.name);
      forward(client, method, call);
    };
  }
  server.addService(Object.fromEntries(service.methods.map((method) => [method.name, toDefinition(method)])), handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return {
    target: `127.0.0.1:${port}`,
    calledMethods,
    stop() {
      server.forceShutdown();
      client.close();
    },
  };
}

/** Defines every method as a stream in both directions, because the bytes of a unary call are those of a stream of one message. */
function toDefinition(method: DescMethod): ServiceDefinition[string] {
  return {
    path: toPath(method),
    requestStream: true,
    responseStream: true,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes) => convert(method.input, bytes),
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes) => convert(method.output, bytes),
  };
}

function forward(client: Client, method: DescMethod, call: ServerDuplexStream<Buffer, Buffer>): void {
  const upstream = client.makeBidiStreamRequest(
    toPath(method),
    (bytes: Buffer) => bytes,
    (bytes) => convert(method.output, bytes),
    call.metadata,
    { deadline: call.getDeadline() },
  );
  call.on("cancelled", () => upstream.cancel());
  call.on("data", (bytes) => upstream.write(bytes));
  call.on("end", () => upstream.end());
  upstream.on("metadata", (metadata) => call.sendMetadata(metadata));
  upstream.on("data", (bytes) => call.write(bytes));
  // The status reports the error too.
  upstream.on("error", () => undefined);
  upstream.on("status", ({ code, details, metadata }) => {
    if (code === status.OK) call.end(metadata);
    else call.emit("error", { code, details, metadata });
  });
}

function toPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Removes the fields that were added to the message after the release, and adds a field of an invented next release. */
function convert(message: DescMessage, bytes: Buffer): Buffer {
  return Buffer.concat([toBinary(message, fromBinary(message, bytes, { readUnknownFields: false })), NEXT_FIELD]);
}
