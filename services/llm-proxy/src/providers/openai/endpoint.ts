import type { OpenAI } from "openai";
import type { Dispatcher } from "undici";
import { type Answer, exchange, readAtMost, type Target } from "./exchange.ts";
import { refused, unreached } from "./failure.ts";

/** What is read of a refusal's body; the rest is left. */
const MAX_REFUSAL_BYTES = 16 * 1024;

/**
 * One endpoint of a provider. The SDK says how a request for it looks, which is the same for all but the body; it does not make the
 * calls, which would cost more than all the rest of one.
 */
export class Endpoint {
  readonly #client: OpenAI;
  readonly #path: string;
  readonly #dispatcher: Dispatcher;
  #target: Promise<Target> | undefined;

  constructor(client: OpenAI, path: string, dispatcher: Dispatcher) {
    this.#client = client;
    this.#path = path;
    this.#dispatcher = dispatcher;
  }

  /**
   * Posts a request as JSON and resolves with an answer that is no refusal, its body still to come, until `signal`, which is this
   * request's alone, is aborted. Throws ProviderFailure.
   */
  async post(request: object, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#send(JSON.stringify(request), signal).catch((error: unknown) => {
      throw unreached(error);
    });
    const { status, headers, body } = answer;
    if (status >= 200 && status < 300) return answer;
    // It is refused, whether or not it can be read why.
    const text = await readAtMost(body, MAX_REFUSAL_BYTES).catch(() => "");
    throw refused(status, headers, text, Date.now());
  }

  async #send(body: string, signal: AbortSignal): Promise<Answer> {
    this.#target ??= this.#describe();
    const target = await this.#target;
    signal.throwIfAborted();
    return exchange(this.#dispatcher, target, body, signal);
  }

  async #describe(): Promise<Target> {
    const { url, req } = await this.#client.buildRequest({ method: "post", path: this.#path, body: {} });
    const { origin, pathname, search } = new URL(url);
    return { origin, path: pathname + search, headers: [...new Headers(req.headers)].flat() };
  }
}
