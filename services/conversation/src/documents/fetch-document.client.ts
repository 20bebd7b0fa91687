import { DOCUMENT_FORMATS, DOCUMENT_MEDIA_TYPES, isTextFormat } from "@parley/rpc/documents";
import { type Egress, EgressError, invalidArgument, type Logger } from "@parley/service-kit";
import { guardedFetch, type ResponseHead } from "@parley/service-kit/egress";
import type { Format } from "./document.ts";
import { detectFormat, toUtf8 } from "./media-type.ts";
import type { RawDocument } from "./read-document.client.ts";

const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;

export type FetchDocumentOptions = {
  egress: Egress;
  maxBytes: number;
  signal: AbortSignal;
  /** Receives what the error does not reveal: see EgressError. */
  log: Logger;
  timeoutMs?: number;
  /** Called with the size of each received part. May throw to end the request. */
  onBytes?: (bytes: number) => void;
};

/**
 * Fetches a document from an address that `egress` permits, within 20 s, five redirects and `maxBytes`. Converts text to UTF-8. Throws
 * invalid_argument with a code for the cause. If the signal is aborted, throws its reason.
 */
export async function fetchDocument(
  url: string,
  { egress, maxBytes, signal, log, timeoutMs = TIMEOUT_MS, onBytes }: FetchDocumentOptions,
): Promise<RawDocument> {
  let format: Format | undefined;
  try {
    const { headers, body } = await guardedFetch(url, {
      egress,
      timeoutMs,
      ...(onBytes && { onBytes }),
      signal,
      maxBytes,
      maxRedirects: MAX_REDIRECTS,
      headers: { accept: DOCUMENT_MEDIA_TYPES.join(", "), "user-agent": "Parley" },
      onHead: (head) => {
        format = requireDocumentFormat(head);
      },
    });
    if (format === undefined) throw new Error("guardedFetch returned a response without calling onHead");
    if (!isTextFormat(format)) return { format, content: body };
    return { format, content: toUtf8(body, { contentType: headers.get("content-type") ?? "", format }) };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const { code, detail, message } = error;
    // Without the path and the query, which may contain secrets.
    log.warn({ host: hostOf(url), code, detail }, "document fetch failed");
    throw invalidArgument(`the URL cannot be fetched: ${message}`, code);
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

function requireDocumentFormat({ status, headers, url }: ResponseHead): Format {
  if (status !== 200) throw invalidArgument(`the URL cannot be fetched: it returned status ${status}`, "url_status");
  const type = headers.get("content-type") ?? "";
  const format = detectFormat(type, new URL(url).pathname);
  if (format === undefined) {
    const shown = type.split(";")[0]?.slice(0, 80) || "no Content-Type";
    throw invalidArgument(
      `the URL returned ${shown}; use a document of one of the formats ${DOCUMENT_FORMATS.join(", ")}`,
      "unsupported_document",
    );
  }
  return format;
}
