/** The response header with the request's id, by which the service's operator finds the request. */
export const REQUEST_ID_HEADER = "parley-request-id";

/**
 * A request or turn that failed. The code is the service's, or one of the widget's own: `network`, `offline`,
 * `interrupted`, `stopped`, `failed`, `refused`, `unavailable` and `visitor_token_failed`.
 */
export class Failure extends Error {
  declare readonly code: string;
  /** The Retry-After header in seconds; 0 without one. */
  declare readonly retryAfterSeconds: number;
  /** Empty if the service did not respond. */
  declare readonly requestId: string;
  /** The response's body; empty if the service did not respond. */
  declare readonly body: Readonly<Record<string, unknown>>;

  constructor(code: string, retryAfterSeconds = 0, requestId = "", body: Failure["body"] = {}) {
    super(code);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.requestId = requestId;
    this.body = body;
  }

  /** Reads an error response: `{"error"}` of the chat endpoint, `{"detail"}` of the playground and export. */
  static async from(response: Response): Promise<Failure> {
    const body = (await response.json().catch(() => ({}))) as { error?: string; detail?: string };
    const fallback = response.status < 500 ? "refused" : "unavailable";
    return new Failure(
      body.error ?? body.detail ?? fallback,
      Number(response.headers.get("retry-after")) || 0,
      response.headers.get(REQUEST_ID_HEADER) ?? "",
      body,
    );
  }
}
