import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export type CollectedSpan = {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the root span. */
  parentId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  hasFailed: boolean;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, unknown>;
};

export type Collector = {
  /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: CollectedSpan[];
  /** The bodies and headers of the export requests, in the same order. */
  bodies: Buffer[];
  headers: IncomingHttpHeaders[];
  /** Returns the spans of one turn's trace, ordered by start time. */
  traceOf(turnId: string): CollectedSpan[];
  close(): Promise<void>;
};

/** Starts an OpenTelemetry collector that receives traces by OTLP over HTTP, encoded with protobuf. */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    if (request.url !== "/v1/traces") return void response.writeHead(404).end();
    // A service that is killed during an export closes the connection.
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    bodies.push(body);
    headers.push(request.headers);
    spans.push(...readExport(body));
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the collector has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    bodies,
    headers,
    traceOf(turnId) {
      const traces = new Set(
        spans.filter(({ attributes }) => attributes["parley.turn_id"] === turnId).map(({ traceId }) => traceId),
      );
      return spans.filter(({ traceId }) => traces.has(traceId)).sort((a, b) => Number(a.startNs - b.startNs));
    },
    async close() {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The encoded fields of a protobuf message by field number. Each value is bytes or a 64-bit number. */
type Fields = Map<number, (Uint8Array | bigint)[]>;

function readFields(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else if (type === WireType.Varint) values.push(BigInt(reader.int64()));
    else reader.skip(type, number);
  }
  return fields;
}

const messagesOf = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).filter((value) => typeof value !== "bigint");
const bytesOf = (fields: Fields, number: number) => messagesOf(fields, number)[0] ?? new Uint8Array();
const textOf = (fields: Fields, number: number) => Buffer.from(bytesOf(fields, number)).toString();
const hexOf = (fields: Fields, number: number) => Buffer.from(bytesOf(fields, number)).toString("hex");
const numberOf = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).find((value) => typeof value === "bigint") ?? 0n;

// The field numbers below come from OpenTelemetry's protos collector/trace/v1, trace/v1, resource/v1 and common/v1.
function readExport(body: Uint8Array): CollectedSpan[] {
  return messagesOf(readFields(body), 1).flatMap((resourceSpans) => {
    const fields = readFields(resourceSpans);
    const resource = readAttributes(readFields(bytesOf(fields, 1)), 1);
    return messagesOf(fields, 2)
      .flatMap((scopeSpans) => messagesOf(readFields(scopeSpans), 2))
      .map((span) => readSpan(readFields(span), String(resource["service.name"])));
  });
}

function readSpan(span: Fields, service: string): CollectedSpan {
  return {
    service,
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentId: hexOf(span, 4),
    name: textOf(span, 5),
    kind: Number(numberOf(span, 6)),
    // 2 is STATUS_CODE_ERROR.
    hasFailed: numberOf(readFields(bytesOf(span, 15)), 3) === 2n,
    startNs: numberOf(span, 7),
    endNs: numberOf(span, 8),
    attributes: readAttributes(span, 9),
  };
}

function readAttributes(owner: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messagesOf(owner, number).map((pair) => {
      const fields = readFields(pair);
      return [textOf(fields, 1), readValue(readFields(bytesOf(fields, 2)))];
    }),
  );
}

function readValue(value: Fields): unknown {
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return numberOf(value, 2) === 1n;
  if (value.has(3)) return Number(numberOf(value, 3));
  if (value.has(4)) return new Float64Array(BigUint64Array.of(numberOf(value, 4)).buffer)[0];
  if (value.has(5)) return messagesOf(readFields(bytesOf(value, 5)), 1).map((each) => readValue(readFields(each)));
  throw new Error("the attribute's value has no known type");
}
