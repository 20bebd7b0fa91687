import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

export type HostileRequest = {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[]>>;
  body?: Buffer | undefined;
  /** Whether the server may close the connection instead of sending a response, because it does not read the rest of the body. */
  mayClose?: boolean;
};

const MIB = 1024 * 1024;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

const PATHS = [
  "/",
  "/metrics",
  "/metrics/",
  "/metrics?x=1",
  "//metrics",
  "/METRICS",
  "/%6detrics",
  "/healthz/live",
  "/healthz/ready",
  "/healthz/live/../../metrics",
  "/healthz",
  "/../../../../etc/passwd",
  "/..%2f..%2fetc%2fpasswd",
  "/.env",
  "/json/list",
  "/debug/pprof/",
  "/constructor",
  "/__proto__",
  "/%00",
  `/${"x".repeat(4_000)}`,
  "http://foreign.example/metrics",
  "*",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/parley.conversation.v1.BotAdminService/NoSuchMethod",
  "/parley.conversation.v1.ConversationService/OpenTurn",
  "/parley.conversation.v1.BotAdminService/ListBots/",
];

export function pathRequests(): HostileRequest[] {
  return METHODS.flatMap((method) => PATHS.map((path) => ({ method, path, headers: {} })));
}

const CONTENT_TYPES = [
  "application/json",
  "application/json; charset=utf-16",
  "application/proto",
  "application/connect+json",
  "application/connect+proto",
  "application/grpc+proto",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "text/plain",
  "",
];

/** Wraps a message for gRPC and for the streams of Connect. Flag 1 declares compression, and flag 2 the end of a Connect stream. */
function envelope(message: Buffer, { flags = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

const encode = (text: string) => Buffer.from(text);

/** Valid, malformed and misleading bodies for a method whose request has a `workspaceId`. */
function smallBodies(workspaceId: string): (Pick<HostileRequest, "body"> & { encoding?: string })[] {
  const valid = encode(JSON.stringify({ workspaceId }));
  const nested = encode(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
  return [
    { body: valid },
    { body: envelope(valid) },
    { body: Buffer.alloc(0) },
    { body: encode("{") },
    { body: encode("null") },
    { body: encode('{"workspaceId":{"a":[1]},"limit":"x"}') },
    { body: encode(`{"__proto__":{"workspaceId":"x"},"constructor":1,"workspaceId":${JSON.stringify(workspaceId)}}`) },
    { body: encode('{"workspaceId":"\\u0000\\ud800","limit":1e999}') },
    { body: nested },
    { body: envelope(nested) },
    { body: Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28]) },
    { body: envelope(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])) },
    { body: envelope(valid, { length: 0xffff_ffff }) },
    { body: envelope(valid, { length: valid.length + 1 }) },
    { body: envelope(valid, { flags: 1 }) },
    { body: envelope(valid, { flags: 0xff }) },
    { body: envelope(Buffer.alloc(0), { flags: 2 }) },
    { body: Buffer.concat(Array(1_000).fill(envelope(Buffer.alloc(0)))) },
    { body: gzipSync(valid), encoding: "gzip" },
    { body: gzipSync(valid).subarray(0, 12), encoding: "gzip" },
    { body: valid, encoding: "gzip" },
    { body: deflateSync(valid), encoding: "deflate" },
    { body: gzipSync(gzipSync(valid)), encoding: "gzip, gzip" },
    { body: valid, encoding: "zstd" },
  ];
}

const encodingHeader = (contentType: string) => {
  if (contentType.startsWith("application/connect+")) return "connect-content-encoding";
  return contentType.startsWith("application/grpc") ? "grpc-encoding" : "content-encoding";
};

export function bodyRequests(path: string, workspaceId: string, authorization: string | undefined): HostileRequest[] {
  return CONTENT_TYPES.flatMap((contentType) =>
    smallBodies(workspaceId).map(({ body, encoding }) => ({
      method: "POST",
      path,
      headers: {
        ...(contentType && { "content-type": contentType }),
        ...(encoding && { [encodingHeader(contentType)]: encoding }),
        ...(authorization && { authorization }),
      },
      body,
    })),
  );
}

/** The decompressed size of each body in LARGE_JSON and LARGE_BINARY: slightly less than the largest body that a service accepts (24 MiB). */
const LARGE_BYTES = 23 * MIB;
const bomb = (bytes: string, length = LARGE_BYTES) => gzipSync(Buffer.alloc(length, bytes, "latin1"));
/** Parsing one of these bodies takes an amount of memory that is many times its decompressed size. */
const LARGE_JSON = [bomb("["), bomb('{"a":'), bomb("[1,")];
/** Protobuf with the same effect: unknown fields, and empty texts of a repeated field. */
const LARGE_BINARY = [bomb("\xf8\x07\x01"), bomb("\x1a\0")];
const OVERSIZED_BODIES = [
  { body: bomb("\0", 100 * MIB), encoding: "gzip" },
  { body: brotliCompressSync(Buffer.alloc(100 * MIB)), encoding: "br" },
  { body: Buffer.alloc(25 * MIB, "x"), encoding: undefined },
];

export function largeRequests(path: string, authorization: string | undefined): HostileRequest[] {
  const contentTypes = ["application/json", "application/proto", "application/connect+json"];
  return contentTypes.flatMap((contentType) => {
    const bombs = contentType.endsWith("json") ? LARGE_JSON : LARGE_BINARY;
    const bodies = [...OVERSIZED_BODIES, ...bombs.map((body) => ({ body, encoding: "gzip" }))];
    return bodies.map(({ body, encoding }) => {
      const isUnary = encodingHeader(contentType) === "content-encoding";
      return {
        method: "POST",
        path,
        headers: {
          "content-type": contentType,
          ...(encoding && { [encodingHeader(contentType)]: encoding }),
          ...(authorization && { authorization }),
        },
        body: isUnary ? body : envelope(body, { flags: encoding ? 1 : 0 }),
        mayClose: true,
      };
    });
  });
}

/** `token` is the operator's token. */
export function headerRequests(path: string, token: string): HostileRequest[] {
  const post = (headers: HostileRequest["headers"]): HostileRequest => ({
    method: "POST",
    path,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: encode("{}"),
  });
  const authorizations = [
    "Bearer",
    "Bearer ",
    `bearer: ${token}`,
    `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token}x`,
    `Bearer ${token} ${token}`,
    `Bearer ${"x".repeat(8_000)}`,
    `Bearer ${"\u00ff".repeat(50)}`,
    "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
    "Bearer ..",
    "null",
  ];
  const others: HostileRequest["headers"][] = [
    { "connect-protocol-version": "2" },
    { "connect-protocol-version": "\u00ff" },
    ...["-1", "abc", "0", "1", "99999999999999999999", "1e3"].map((value) => ({ "connect-timeout-ms": value })),
    ...["1n", "xyz", "-1S", "999999999999H"].map((value) => ({ "grpc-timeout": value })),
    { "accept-encoding": "gzip;q=9, br;q=-1, *;q=x" },
    { "connect-accept-encoding": "x".repeat(4_000) },
    { accept: "text/html" },
    { "x-forwarded-for": "127.0.0.1", "x-original-url": "/metrics", "x-http-method-override": "DELETE" },
    { cookie: `a=${"b".repeat(4_000)}` },
    { traceparent: "00-x-y-z", tracestate: "=,=,=" },
    { te: "trailers, deflate" },
  ];
  return [...authorizations.map((authorization) => post({ authorization })), ...others.map(post)];
}

/** Byte sequences that are not HTTP/1.1 requests, and requests that are unusual or ambiguous. */
export const RAW_REQUESTS: readonly string[] = [
  "hello\r\n\r\n",
  "\0\0\0\0\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0",
  "\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003\r\n\r\n",
  "GET /metrics HTTP/9.9\r\nhost: a\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nconnection: close\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\nzz\r\n\r\n",
  `GET /healthz/live HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(17 * 1024)}\r\n\r\n`,
  `GET /healthz/live HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${"x: y\r\n".repeat(3_000)}\r\n`,
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\nconnection: close\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nx\0y: a\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\nhttp2-settings: AAA\r\nconnection: upgrade, close\r\n\r\n",
  "GET /healthz/live HTTP/1.1\r\nhost: a\r\nexpect: tea\r\nconnection: close\r\n\r\n",
  "CONNECT foreign.example:443 HTTP/1.1\r\nhost: foreign.example:443\r\n\r\n",
];

/** The first bytes of requests whose rest never comes. */
export const SLOW_REQUESTS: readonly string[] = [
  "POST /metrics HTTP/1.1\r\n",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nx",
  "POST /metrics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
];
