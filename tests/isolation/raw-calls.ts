import {
  clearField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { createClient, GrpcTransport, openChannel, RpcError } from "@parley/rpc";
import { ADMIN_TOKEN, INTERNAL_TOKEN } from "../system/processes.ts";
import type { SharedSystem } from "../system/shared-system.ts";
import { isAdminMethod, portsOf } from "./methods.ts";

export type Fields = Record<string, unknown>;

/** Sends a request. Returns the response or the error as text. Omits the response fields in `volatile`, which differ from call to call. */
export type Call = (method: DescMethod, fields: Fields, volatile: readonly string[]) => Promise<string>;

const OPTIONS = { timeoutMs: 20_000 };

export function connectDataPlane(service: DescService, port: number): { call: Call; close(): void } {
  const channel = openChannel({ target: `127.0.0.1:${port}`, retryable: [] });
  const transport = new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${INTERNAL_TOKEN}`));
  const client = createClient(service, transport) as unknown as Record<
    string,
    (fields: Fields, options: object) => Promise<Message> | AsyncIterable<Message>
  >;
  return {
    close: () => channel.close(),
    async call(method, fields, volatile) {
      const send = client[method.localName];
      if (send === undefined) throw new Error(`no ${method.name}`);
      const messages: Message[] = [];
      try {
        const response = send(fields, OPTIONS);
        if (Symbol.asyncIterator in response) for await (const message of response) messages.push(message);
        else messages.push(await response);
      } catch (error) {
        return formatError(error);
      }
      return messages.map((message) => encode(method.output, message, volatile)).join("|");
    },
  };
}

function encode(schema: DescMessage, message: Message, volatile: readonly string[]): string {
  for (const field of schema.fields) if (volatile.includes(field.localName)) clearField(message, field);
  return Buffer.from(toBinary(schema, message)).toString("latin1");
}

function formatError(error: unknown): string {
  if (!(error instanceof RpcError)) throw error;
  const { metadata } = error.cause as { metadata?: { getMap(): Record<string, unknown> } };
  const { date: _, ...trailers } = metadata?.getMap() ?? {};
  return JSON.stringify([error.status, error.code, error.message, trailers]);
}

/**
 * Returns a function that calls the admin services of an ops port with the Connect protocol; by default as the operator. It does not remove
 * volatile fields from streams.
 */
export function connectAdminPlane(opsPort: number, authorization = `Bearer ${ADMIN_TOKEN}`): Call {
  return async (method, fields, volatile) => {
    const isStream = method.methodKind !== "unary";
    const json = Buffer.from(JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? `${value}` : value)));
    // A streaming message of Connect begins with a byte of flags and four bytes of length.
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(json.length, 1);
    const response = await fetch(`http://127.0.0.1:${opsPort}/${method.parent.typeName}/${method.name}`, {
      method: "POST",
      headers: {
        ...(authorization !== "" && { authorization }),
        "content-type": isStream ? "application/connect+json" : "application/json",
        "connect-protocol-version": "1",
      },
      body: isStream ? Buffer.concat([prefix, json]) : json,
    });
    const headers = [...response.headers].filter(([name]) => name !== "date" && name !== "content-length");
    const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
    return JSON.stringify([response.status, headers, response.ok && !isStream ? omitFields(body, volatile) : body]);
  };
}

function omitFields(json: string, volatile: readonly string[]): string {
  return JSON.stringify(JSON.parse(json), (key, value) => (volatile.includes(key) ? undefined : value));
}

/** Connects to the method's service, runs `use` with a function that calls the service, and closes the connection. */
export async function withCall<T>(
  system: SharedSystem,
  method: DescMethod,
  use: (call: Call) => Promise<T>,
): Promise<T> {
  const { port, opsPort } = portsOf(system, method.parent);
  if (isAdminMethod(method)) return use(connectAdminPlane(opsPort));
  const connection = connectDataPlane(method.parent, port);
  try {
    return await use(connection.call);
  } finally {
    connection.close();
  }
}
