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

/** A request, as fields of its message. */
export type Fields = Record<string, unknown>;

/** Sends a request and gives the whole answer, to the byte, as text: what came, or how it was refused. */
export type Caller = (method: DescMethod, fields: Fields, volatile: readonly string[]) => Promise<string>;

const OPTIONS = { timeoutMs: 20_000 };

/** Calls of a service's data plane on this port of 127.0.0.1. */
export function dataPlane(service: DescService, port: number): { call: Caller; close(): void } {
  const channel = openChannel({ target: `127.0.0.1:${port}`, retryable: [] });
  const transport = new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${INTERNAL_TOKEN}`));
  const client = createClient(service, transport) as unknown as Record<
    string,
    (fields: Fields, options: object) => Promise<Message> | AsyncIterable<Message>
  >;
  return {
    close: () => channel.close(),
    async call(method, fields, volatile) {
      const ask = client[method.localName];
      if (ask === undefined) throw new Error(`no ${method.name}`);
      const messages: Message[] = [];
      try {
        const answer = ask(fields, OPTIONS);
        if (Symbol.asyncIterator in answer) for await (const message of answer) messages.push(message);
        else messages.push(await answer);
      } catch (error) {
        return refusal(error);
      }
      return messages.map((message) => bytesOf(method.output, message, volatile)).join("|");
    },
  };
}

function bytesOf(schema: DescMessage, message: Message, volatile: readonly string[]): string {
  for (const field of schema.fields) if (volatile.includes(field.localName)) clearField(message, field);
  return Buffer.from(toBinary(schema, message)).toString("latin1");
}

function refusal(error: unknown): string {
  if (!(error instanceof RpcError)) throw error;
  const { metadata } = error.cause as { metadata?: { getMap(): Record<string, unknown> } };
  const { date: _, ...trailers } = metadata?.getMap() ?? {};
  return JSON.stringify([error.status, error.code, error.message, trailers]);
}

/** Calls of a service's admin services on this ops port, as a browser or a script makes them. */
export function adminPlane(opsPort: number): Caller {
  return async (method, fields, volatile) => {
    const isStream = method.methodKind !== "unary";
    const json = Buffer.from(JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? `${value}` : value)));
    const length = Buffer.alloc(5);
    length.writeUInt32BE(json.length, 1);
    const response = await fetch(`http://127.0.0.1:${opsPort}/${method.parent.typeName}/${method.name}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        "content-type": isStream ? "application/connect+json" : "application/json",
        "connect-protocol-version": "1",
      },
      body: isStream ? Buffer.concat([length, json]) : json,
    });
    const headers = [...response.headers].filter(([name]) => name !== "date" && name !== "content-length");
    const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
    return JSON.stringify([response.status, headers, response.ok && !isStream ? without(body, volatile) : body]);
  };
}

function without(json: string, volatile: readonly string[]): string {
  return JSON.stringify(JSON.parse(json), (key, value) => (volatile.includes(key) ? undefined : value));
}
