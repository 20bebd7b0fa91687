import { isDeepStrictEqual } from "node:util";
import { MAX_GENERATION_MS } from "@parley/service-kit";
import {
  hasOpenAiApi,
  listConfiguredModels,
  type ProviderSettings,
  parseModelName,
  ROUTE_PREFIX,
  type Settings,
} from "../settings/index.ts";
import { createBuiltinProvider } from "./builtin/builtin.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import { createNativeProvider } from "./native/native.client.ts";
import { createOpenAiProvider } from "./openai/openai.client.ts";
import type { Provider } from "./provider.ts";

export type GuardedProvider = {
  settings: ProviderSettings;
  provider: Provider;
  breaker: CircuitBreaker;
  concurrency: ConcurrencyLimiter;
  /** Embedding requests have their own breaker and limit, so that they cannot delay generations or open the breaker for generations. */
  embeddings: { breaker: CircuitBreaker; concurrency: ConcurrencyLimiter };
};

export type Candidate = {
  guardedProvider: GuardedProvider;
  /** The model's name without its provider. */
  name: string;
  /** `<provider>:<model_name>` */
  model: string;
};

export type EmbeddingModel = Candidate & {
  /** The length of the vectors; undefined for the model's default. */
  dimensions: number | undefined;
};

/** Low limits suffice: an embedding request takes a fraction of a second, and the conversation service retries refused batches. */
const EMBEDDING_CONCURRENCY = { maxActive: 16, maxQueued: 64, maxWaitMs: 5_000 };

export class ProviderCatalog {
  readonly #now: () => number;
  readonly #proxyUrl: string | undefined;
  #settings: Settings;
  #configuredModels: ReadonlySet<string>;
  #providers = new Map<string, GuardedProvider>();
  /** The replaced or removed providers that running generations may still use, each with the timer that closes it. */
  readonly #replaced = new Map<GuardedProvider, NodeJS.Timeout>();

  /** `now` is a monotonic clock in milliseconds. Providers with an https URL are reached through `proxyUrl`, if given. */
  constructor(settings: Settings, now: () => number, proxyUrl?: string) {
    this.#now = now;
    this.#proxyUrl = proxyUrl;
    this.#settings = settings;
    this.#configuredModels = listConfiguredModels(settings);
    this.#providers = this.#build(settings);
  }

  get settings(): Settings {
    return this.#settings;
  }

  get providers(): readonly GuardedProvider[] {
    return [...this.#providers.values()];
  }

  /**
   * Replaces the settings for later generations. A provider whose settings did not change keeps its connections and state. A replaced or
   * removed provider is closed after MAX_GENERATION_MS, because then no generation uses it any more.
   */
  applySettings(settings: Settings): void {
    const previous = this.#providers;
    this.#settings = settings;
    this.#configuredModels = listConfiguredModels(settings);
    this.#providers = this.#build(settings);
    for (const [name, each] of previous)
      if (this.#providers.get(name) !== each)
        this.#replaced.set(each, setTimeout(() => void this.#closeReplaced(each), MAX_GENERATION_MS).unref());
  }

  /**
   * Returns the models to try, in order; undefined if `modelOrRoute` is unknown.
   * @param modelOrRoute a model, `route:<name>`, or "" for the default.
   */
  findCandidates(modelOrRoute: string): Candidate[] | undefined {
    const model = modelOrRoute === "" ? this.#settings.defaultModel : modelOrRoute;
    const parsed = parseModelName(model);
    if (parsed === undefined) return undefined;
    if (parsed.provider !== ROUTE_PREFIX) return this.#candidatesOf([model]);
    const { routes } = this.#settings;
    const route = Object.hasOwn(routes, parsed.name) ? routes[parsed.name] : undefined;
    return route && this.#candidatesOf(route);
  }

  /** Returns a model's label in metrics: its name if the settings name it, else `_OTHER`, because bots may use any number of names. */
  getModelLabel({ model, name }: Candidate): string {
    return this.#configuredModels.has(model) ? name : "_OTHER";
  }

  get embeddingModel(): EmbeddingModel | undefined {
    const { embeddings } = this.#settings;
    if (embeddings === undefined) return undefined;
    const { provider = "", name = "" } = parseModelName(embeddings.model) ?? {};
    const guardedProvider = this.#providers.get(provider);
    return guardedProvider && { guardedProvider, name, model: embeddings.model, dimensions: embeddings.dimensions };
  }

  async close(): Promise<void> {
    const replaced = [...this.#replaced.keys()].map((each) => this.#closeReplaced(each));
    await Promise.all([...replaced, ...this.providers.map(({ provider }) => provider.close())]);
  }

  async #closeReplaced(replaced: GuardedProvider): Promise<void> {
    clearTimeout(this.#replaced.get(replaced));
    this.#replaced.delete(replaced);
    await replaced.provider.close();
  }

  #candidatesOf(models: readonly string[]): Candidate[] | undefined {
    const candidates: Candidate[] = [];
    for (const model of models) {
      const { provider = "", name = "" } = parseModelName(model) ?? {};
      const guardedProvider = this.#providers.get(provider);
      if (guardedProvider === undefined || !guardedProvider.provider.hasModel(name)) return undefined;
      candidates.push({ guardedProvider, name, model });
    }
    return candidates;
  }

  #build(settings: Settings): Map<string, GuardedProvider> {
    return new Map(settings.providers.map((each) => [each.name, this.#keepOrCreate(each)]));
  }

  #keepOrCreate(settings: ProviderSettings): GuardedProvider {
    const existing = this.#providers.get(settings.name);
    if (existing && isDeepStrictEqual(existing.settings, settings)) return existing;
    return {
      settings,
      provider: createProvider(settings, this.#proxyUrl),
      breaker: new CircuitBreaker(settings.breaker, this.#now),
      concurrency: new ConcurrencyLimiter(settings.concurrency),
      embeddings: {
        breaker: new CircuitBreaker(settings.breaker, this.#now),
        concurrency: new ConcurrencyLimiter(EMBEDDING_CONCURRENCY),
      },
    };
  }
}

function createProvider(settings: ProviderSettings, proxyUrl: string | undefined): Provider {
  if (settings.kind === "builtin") return createBuiltinProvider();
  return hasOpenAiApi(settings) ? createOpenAiProvider(settings, proxyUrl) : createNativeProvider(settings, proxyUrl);
}
