import { type RpcClient, RpcError } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import { backoffMs, type Lifecycle, type Logger, pause } from "@parley/service-kit";

const TIMEOUT_MS = 2_000;
const RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 2_000;
/** The services start in any order, so the first failures are no reason for a warning. Five attempts take 4 to 6 s. */
const EXPECTED_FAILURES = 5;

/** Checks that quota and llm-proxy can be reached and accept this edge's token. */
export class ReachabilityCheck {
  /**
   * A call to each service, by the service's name. The call sends an empty request to a method that every release of the service has. The
   * service checks the token before it refuses the empty request, so the expected refusal shows that it accepts the token.
   */
  readonly #calls: ReadonlyMap<string, () => Promise<unknown>>;
  #hasReachedAll: boolean = false;

  constructor(quota: RpcClient<typeof QuotaService>, llm: RpcClient<typeof LlmService>) {
    this.#calls = new Map<string, () => Promise<unknown>>([
      ["quota", () => expectRefusal("workspace_not_found", quota.getWorkspace({}, { timeoutMs: TIMEOUT_MS }))],
      [
        "llm-proxy",
        () => expectRefusal("invalid_argument", waitForFirstResponse(llm.generate({}, { timeoutMs: TIMEOUT_MS }))),
      ],
    ]);
  }

  get hasReachedAll(): boolean {
    return this.#hasReachedAll;
  }

  async isAnyReachable(): Promise<boolean> {
    return Promise.any([...this.#calls.values()].map((call) => call())).then(
      () => true,
      () => false,
    );
  }

  /** Calls each service until the service accepts this edge's token, or the process stops. */
  async waitForAll(log: Logger, { closingSignal }: Pick<Lifecycle, "closingSignal">): Promise<void> {
    const names = [...this.#calls.keys()];
    await Promise.all(names.map((name) => this.#waitFor(name, log, closingSignal)));
    this.#hasReachedAll = !closingSignal.aborted;
  }

  async #waitFor(name: string, log: Logger, closingSignal: AbortSignal): Promise<void> {
    for (let attempts = 1; !closingSignal.aborted; attempts++) {
      try {
        await this.#calls.get(name)?.();
        return;
      } catch (error) {
        const level = attempts > EXPECTED_FAILURES ? "warn" : "info";
        log[level]({ peer: name, error }, "call failed, edge not ready until the service accepts a call");
      }
      await pause(backoffMs(attempts, RETRY_DELAY_MS, MAX_RETRY_DELAY_MS), closingSignal);
    }
  }
}

/** Waits until the call succeeds or is refused with `code`. Throws if it fails with another code. */
async function expectRefusal(code: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof RpcError && error.code === code)) throw error;
  }
}

async function waitForFirstResponse(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) return;
}
