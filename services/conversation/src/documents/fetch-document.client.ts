import { DOCUMENT_FORMATS, DOCUMENT_MEDIA_TYPES, isTextFormat } from "@parley/rpc/documents";
import { type Egress, EgressError, invalidArgument, type Logger } from "@parley/service-kit";
import {
  type GuardedFetchOptions,
  type GuardedResponse,
  guardedFetch,
  type ResponseHead,
} from "@parley/service-kit/egress";
import type { Format } from "./document.ts";
import { detectFormat, toUtf8 } from "./media-type.ts";
import { USER_AGENT } from "./pages/page-link.ts";
import type { RawDocument } from "./reader-process/read-document.client.ts";

const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;
const MAX_VALIDATOR_CHARACTERS = 500;
const ACCEPT = DOCUMENT_MEDIA_TYPES.join(", ");

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
export async function fetchDocument(url: string, options: FetchDocumentOptions): Promise<RawDocument> {
  let format: Format | undefined;
  const response = await fetchUrl(url, options, {
    headers: { accept: ACCEPT },
    onHead: (head) => {
      if (head.status !== 200) throw statusError(head.status);
      format = requireDocumentFormat(head);
    },
  });
  return toRawDocument(response, format);
}

/** What a server sent for a page before. */
export type PageValidators = { etag: string; lastModified: string };

export type PageRequest = {
  url: string;
  /** Empty values for a page that must be sent again even if it has not changed. */
  validators: PageValidators;
  /** Returns whether a URL, after redirects, is that of the page. */
  isSamePage: (url: string) => boolean;
};

export type FetchedPage =
  | { kind: "content"; raw: RawDocument; validators: PageValidators }
  /** The page has not changed since it was sent with the validators. */
  | { kind: "unchanged" }
  /** The URL redirects to another page, which was not requested. */
  | { kind: "moved"; url: string; isPermanent: boolean }
  | { kind: "status"; status: number; retryAfterSeconds: number | undefined };

/** Ends a request before the body. Not a TypeError: see guardedFetch. */
class HeadSuffices extends Error {
  readonly page: FetchedPage;

  constructor(page: FetchedPage) {
    super("the body is not read");
    this.page = page;
  }
}

/** Fetches a page as fetchDocument does, unless it has moved or not changed. Returns a status other than 200 instead of throwing. */
export async function fetchPage(
  { url, validators, isSamePage }: PageRequest,
  options: FetchDocumentOptions,
): Promise<FetchedPage> {
  const { etag, lastModified } = validators;
  let format: Format | undefined;
  try {
    const response = await fetchUrl(url, options, {
      headers: {
        accept: ACCEPT,
        ...(etag !== "" && { "if-none-match": etag }),
        ...(lastModified !== "" && { "if-modified-since": lastModified }),
      },
      onHead: (head) => {
        if (head.status === 304) throw new HeadSuffices({ kind: "unchanged" });
        if (head.status !== 200)
          throw new HeadSuffices({
            kind: "status",
            status: head.status,
            retryAfterSeconds: parseRetryAfter(head.headers.get("retry-after")),
          });
        format = requireDocumentFormat(head);
      },
      onRedirect: (target, status) => {
        if (!isSamePage(target))
          throw new HeadSuffices({ kind: "moved", url: target, isPermanent: status === 301 || status === 308 });
      },
    });
    const newValidators = {
      etag: validatorOf(response.headers.get("etag")),
      lastModified: validatorOf(response.headers.get("last-modified")),
    };
    return { kind: "content", raw: toRawDocument(response, format), validators: newValidators };
  } catch (error) {
    if (error instanceof HeadSuffices) return error.page;
    throw error;
  }
}

/** Fetches a file of any type, such as robots.txt or a sitemap, within the limits of fetchDocument. */
export function fetchFile(url: string, options: FetchDocumentOptions): Promise<GuardedResponse> {
  return fetchUrl(url, options, { headers: { accept: "*/*" } });
}

type UrlOptions = Pick<GuardedFetchOptions, "onHead" | "onRedirect"> & { headers: Record<string, string> };

async function fetchUrl(
  url: string,
  { egress, maxBytes, signal, log, timeoutMs = TIMEOUT_MS, onBytes }: FetchDocumentOptions,
  { headers, ...callbacks }: UrlOptions,
): Promise<GuardedResponse> {
  try {
    return await guardedFetch(url, {
      egress,
      timeoutMs,
      ...(onBytes && { onBytes }),
      signal,
      maxBytes,
      maxRedirects: MAX_REDIRECTS,
      ...callbacks,
      headers: { ...headers, "user-agent": USER_AGENT },
    });
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const { code, detail, message } = error;
    // Without the path and the query, which may contain secrets.
    log.warn({ host: hostOf(url), code, detail }, "document fetch failed");
    throw invalidArgument(`the URL cannot be fetched: ${message}`, code);
  }
}

function toRawDocument({ headers, body }: GuardedResponse, format: Format | undefined): RawDocument {
  if (format === undefined) throw new Error("guardedFetch returned a response without calling onHead");
  if (!isTextFormat(format)) return { format, content: body };
  return { format, content: toUtf8(body, { contentType: headers.get("content-type") ?? "", format }) };
}

/** Returns an empty text for a missing or overlong value. */
function validatorOf(value: string | null): string {
  return value !== null && value.length <= MAX_VALIDATOR_CHARACTERS ? value : "";
}

/** Returns the seconds of a Retry-After header; undefined if it has none. */
function parseRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const seconds = (Date.parse(value) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

export function statusError(status: number): Error {
  return invalidArgument(`the URL cannot be fetched: it returned status ${status}`, "url_status");
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

function requireDocumentFormat({ headers, url }: ResponseHead): Format {
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
