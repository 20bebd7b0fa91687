import { isDeepStrictEqual } from "node:util";
import { type ProviderSettings, parseModelName, ROUTE_PREFIX, type Settings } from "../settings/index.ts";
import { Breaker } from "./breaker.ts";
import { builtinProvider } from "./builtin/builtin.ts";
import { Concurrency } from "./concurrency.ts";
import { openAiProvider } from "./openai/openai.client.ts";
import type { Provider } from "./provider.ts";

/** A configured provider with what guards it. */
export type GuardedProvider = {
  settings: ProviderSettings;
  provider: Provider;
  breaker: Breaker;
  concurrency: Concurrency;
  /** Those of its embeddings: learning documents takes no place from replies, and what fails there says nothing of them. */
  embeddings: { breaker: Breaker; concurrency: Concurrency };
};

/** One model to be tried. */
export type Candidate = {
  guarded: GuardedProvider;
  /** The model's name without its provider. */
  name: string;
  /** `<provider>:<model_name>` */
  model: string;
};

/** Each call takes a fraction of a second; whoever would wait longer than this comes back later. */
const EMBEDDING_CONCURRENCY = { maxActive: 16, maxQueued: 64, maxWaitMs: 5_000 };

/** The providers and routes in force. */
export class Catalog {
  readonly #now: () => number;
  #settings: Settings;
  #providers = new Map<string, GuardedProvider>();

  /** `now` counts milliseconds and never goes back. */
  constructor(settings: Settings, now: () => number) {
    this.#now = now;
    this.#settings = settings;
    this.#providers = this.#build(settings);
  }

  get settings(): Settings {
    return this.#settings;
  }

  get providers(): readonly GuardedProvider[] {
    return [...this.#providers.values()];
  }

  /** Puts other settings in force for the calls to come. A provider that did not change keeps its connections and its state. */
  apply(settings: Settings): void {
    const before = this.#providers;
    this.#settings = settings;
    this.#providers = this.#build(settings);
    for (const [name, old] of before) if (this.#providers.get(name) !== old) void old.provider.close();
  }

  /** The models to try for `asked`, in order: the default for an empty name; undefined for a name that leads nowhere. */
  candidates(asked: string): Candidate[] | undefined {
    const model = asked === "" ? this.#settings.defaultModel : asked;
    const parsed = parseModelName(model);
    if (parsed === undefined) return undefined;
    if (parsed.provider !== ROUTE_PREFIX) return this.#all([model]);
    const { routes } = this.#settings;
    const route = Object.hasOwn(routes, parsed.name) ? routes[parsed.name] : undefined;
    return route && this.#all(route);
  }

  /** The model that makes embeddings, with what is asked of it; undefined where none is configured. */
  get embedder():
    | { guarded: GuardedProvider; name: string; model: string; dimensions: number | undefined }
    | undefined {
    const { embeddings } = this.#settings;
    if (embeddings === undefined) return undefined;
    const { provider = "", name = "" } = parseModelName(embeddings.model) ?? {};
    const guarded = this.#providers.get(provider);
    return guarded && { guarded, name, model: embeddings.model, dimensions: embeddings.dimensions };
  }

  async close(): Promise<void> {
    await Promise.all(this.providers.map(({ provider }) => provider.close()));
  }

  #all(models: readonly string[]): Candidate[] | undefined {
    const candidates = models.map((model) => {
      const { provider = "", name = "" } = parseModelName(model) ?? {};
      const guarded = this.#providers.get(provider);
      return guarded?.provider.knows(name) ? { guarded, name, model } : undefined;
    });
    const known = candidates.filter((each) => each !== undefined);
    return known.length === candidates.length ? known : undefined;
  }

  #build(settings: Settings): Map<string, GuardedProvider> {
    return new Map(settings.providers.map((each) => [each.name, this.#keepOrMake(each)]));
  }

  #keepOrMake(settings: ProviderSettings): GuardedProvider {
    const existing = this.#providers.get(settings.name);
    if (existing && isDeepStrictEqual(existing.settings, settings)) return existing;
    return {
      settings,
      provider: settings.kind === "openai" ? openAiProvider(settings) : builtinProvider(),
      breaker: new Breaker(settings.breaker, this.#now),
      concurrency: new Concurrency(settings.concurrency),
      embeddings: {
        breaker: new Breaker(settings.breaker, this.#now),
        concurrency: new Concurrency(EMBEDDING_CONCURRENCY),
      },
    };
  }
}
