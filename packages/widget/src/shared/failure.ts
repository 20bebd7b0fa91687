/** A turn that did not end well: the service's code, or `offline`, `network`, `interrupted` of our own. */
export class Failure extends Error {
  readonly code: string;
  /** Seconds the service asks to wait; 0 when it does not. */
  readonly retryAfterS: number;

  constructor(code: string, retryAfterS = 0) {
    super(code);
    this.code = code;
    this.retryAfterS = retryAfterS;
  }

  /** Reads a refusal that came before the stream: `{"error"}` for visitors, `{"detail"}` for operators. */
  static async of(response: Response): Promise<Failure> {
    const body = (await response.json().catch(() => ({}))) as { error?: string; detail?: string };
    const fallback = response.status < 500 ? "refused" : "unavailable";
    return new Failure(body.error ?? body.detail ?? fallback, Number(response.headers.get("retry-after")) || 0);
  }
}
