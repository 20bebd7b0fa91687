import { pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ExportFormat, type ExportSessionsRequestSchema, SessionAdminService } from "@parley/rpc/conversation";
import { EXPORT_TIMEOUT_MS } from "@parley/service-kit";
import { pickEncoding } from "@parley/widget";
import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { describeLimit, operatorEndpoint, userBucket } from "../auth/index.ts";
import { HttpError, INVALID_PARAMETER, NO_STORE, refused } from "../http/index.ts";
import { POLICIES } from "../rate-limits/index.ts";
import { type ExportDeps, toSmallPieces } from "./export-session.route.ts";
import { translateSessionQueryError } from "./list-sessions.route.ts";
import { CsvExportQuery, ExportQuery, toExport } from "./session-query.ts";
import { ExportLine } from "./transcript.ts";

const MAX_EXPORTS_PER_WORKSPACE = 2;
const RETRY_AFTER_SECONDS = "10";
/** The fastest level, because exports are large and compress well at every level. */
const GZIP_LEVEL = 1;

const FORMATS = [
  {
    extension: "ndjson",
    format: ExportFormat.NDJSON,
    contentType: "application/x-ndjson",
    querystring: ExportQuery,
    body: ExportLine,
    operationId: "exportConversationsAsNdjson",
    summary: "Download all conversations as NDJSON",
    description:
      "Streams every conversation of the caller's workspace as a line of JSON, ordered by start and id. Needs the role `viewer` or `owner`.",
  },
  {
    extension: "csv",
    format: ExportFormat.CSV,
    contentType: "text/csv",
    querystring: CsvExportQuery,
    body: Type.String(),
    operationId: "exportConversationsAsCsv",
    summary: "Download all conversations as CSV",
    description:
      "Streams every conversation of the caller's workspace as CSV (RFC 4180) with a row for each message. A text that a spreadsheet could run as a formula has an apostrophe before it. Needs the role `viewer` or `owner`.",
  },
] as const;
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

const TOO_MANY = refused(
  `${describeLimit(POLICIES.exports)} Or the workspace has ${MAX_EXPORTS_PER_WORKSPACE} exports open in this edge process (\`too_many_exports\`; \`RateLimit\` does not describe this limit).`,
  "rate_limited",
  "too_many_exports",
);

/** GET /api/conversations/export.ndjson and export.csv: streams the sessions of the caller's workspace that match the query. */
export function exportSessionsRoutes(app: FastifyInstance, deps: ExportDeps): void {
  const openExports = new OpenExports();
  for (const { extension, format, contentType, querystring, body: schema, ...described } of FORMATS) {
    const disposition = `attachment; filename="conversations.${extension}"`;
    operatorEndpoint(app, deps, {
      method: "GET",
      url: `/api/conversations/export.${extension}`,
      policy: POLICIES.exports,
      calls: SessionAdminService.method.exportSessions,
      schema: { querystring },
      operation: {
        ...described,
        responses: {
          200: {
            description: "The export.",
            headers: {
              ...NO_STORE,
              Vary: { required: true, schema: { const: "Accept-Encoding" } },
              "Content-Disposition": { required: true, schema: { const: disposition } },
            },
            content: { [contentType]: { schema } },
          },
          400: INVALID_PARAMETER,
          429: TOO_MANY,
        },
      },
      handler: async (request, reply, caller) => {
        const { hasMark, ...query } = toExport(request.query);
        const { workspaceId } = caller;
        const stream = deps.streams.open(reply.raw, userBucket(caller));
        // The stream counts as open until the handler has released it and the response has closed.
        stream.release();
        reply.raw.once("close", openExports.open(workspaceId));
        const parts = exportParts(deps, { workspaceId, format, ...query }, stream.endSignal);
        const body = await withFirstPart(parts, hasMark ? [BYTE_ORDER_MARK] : []);
        reply
          .header("content-type", `${contentType}; charset=utf-8`)
          .header("content-disposition", disposition)
          .header("vary", "Accept-Encoding")
          .header("cache-control", "no-store");
        if (pickEncoding(request.headers["accept-encoding"], ["gzip"]) === "identity")
          return reply.send(toReadable(toSmallPieces(body)));
        return reply.header("content-encoding", "gzip").send(compress(toReadable(body)));
      },
    });
  }
}

/** Limits the open exports of each workspace in this process. */
class OpenExports {
  readonly #counts = new Map<string, number>();

  /** Counts an export until the returned function is called. Throws 429 too_many_exports at the limit. */
  open(workspaceId: string): () => void {
    const count = this.#counts.get(workspaceId) ?? 0;
    if (count >= MAX_EXPORTS_PER_WORKSPACE)
      throw new HttpError(429, "too_many_exports", { "retry-after": RETRY_AFTER_SECONDS });
    this.#counts.set(workspaceId, count + 1);
    return () => {
      const rest = (this.#counts.get(workspaceId) ?? 1) - 1;
      if (rest === 0) this.#counts.delete(workspaceId);
      else this.#counts.set(workspaceId, rest);
    };
  }
}

type ExportRequest = MessageInitShape<typeof ExportSessionsRequestSchema>;

/**
 * Yields an export in parts. The conversation service ends a call after 4 minutes, at the end of a line, and the next call continues there.
 * Only a client that reads too slowly reaches EXPORT_TIMEOUT_MS.
 */
async function* exportParts(
  { sessions }: ExportDeps,
  request: ExportRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  for (let cursor: string | undefined = request.cursor; cursor !== undefined; ) {
    const call = sessions.exportSessions({ ...request, cursor }, { timeoutMs: EXPORT_TIMEOUT_MS, signal });
    cursor = undefined;
    for await (const { content, nextCursor } of call) {
      if (content.length > 0) yield content;
      if (nextCursor !== "") cursor = nextCursor;
    }
  }
}

/** Waits for the first part, so that an error can still change the status. Returns `before` and all parts. */
async function withFirstPart(
  parts: AsyncGenerator<Uint8Array, void, void>,
  before: readonly Uint8Array[],
): Promise<AsyncGenerator<Uint8Array>> {
  const first = await parts.next().catch((error: unknown) => {
    throw translateSessionQueryError(error);
  });
  return (async function* () {
    try {
      yield* before;
      if (!first.done) yield first.value;
      yield* parts;
    } finally {
      await parts.return();
    }
  })();
}

function toReadable(parts: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(parts, { objectMode: false, highWaterMark: 1 });
}

/** Flushes each part. If the download breaks, the client can decompress every part that it received. */
function compress(body: Readable) {
  const gzip = createGzip({ level: GZIP_LEVEL, flush: constants.Z_SYNC_FLUSH });
  // Ignores errors, because an error of the body destroys the compressed stream, and Fastify then destroys the response.
  return pipeline(body, gzip, () => undefined);
}
