import { type ChannelOptions, experimental } from "@grpc/grpc-js";

type Target = experimental.GrpcUri;
type EndpointsOrError = Parameters<experimental.ResolverListener>[0];

/**
 * Resolves several DNS names and uses all their addresses: `names:///quota-headless:9000,quota:9000`. In Kubernetes, the first name is a
 * headless Service, with an address for each replica. All these addresses may be stale in a DNS cache. The second name is a ClusterIP Service, whose
 * single address always leads to a ready replica. Certificates are verified against the first name.
 */
class NamesResolver implements experimental.Resolver {
  readonly #listener: experimental.ResolverListener;
  readonly #resolvers: experimental.Resolver[];
  /** For each name: its latest addresses, or its error if it never had addresses; undefined until the first result. */
  readonly #results: (EndpointsOrError | undefined)[];
  /** The indexes of the names whose last lookup failed. */
  readonly #failed = new Set<number>();

  constructor(target: Target, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.#listener = listener;
    const targets = toDnsTargets(target);
    this.#results = targets.map(() => undefined);
    this.#resolvers = targets.map((each, index) =>
      experimental.createResolver(each, (result) => this.#report(index, result), options),
    );
  }

  static getDefaultAuthority(target: Target): string {
    return splitNames(target)[0] ?? "";
  }

  updateResolution(): void {
    for (const each of this.#resolvers) each.updateResolution();
  }

  destroy(): void {
    for (const each of this.#resolvers) each.destroy();
    this.#results.fill(undefined);
    this.#failed.clear();
  }

  /**
   * Reports the known addresses of all names. Reports an error only if every name has a result and none has an address. Returns false if the
   * channel's load balancing policy refuses the report.
   */
  #report(index: number, result: EndpointsOrError): boolean {
    if (result.ok || !this.#results[index]?.ok) this.#results[index] = result;
    if (result.ok) this.#failed.delete(index);
    else this.#failed.add(index);
    const endpoints = this.#results.flatMap((each) => (each?.ok ? each.value : []));
    if (endpoints.length > 0) {
      // grpc-js repeats a failed lookup only if the lookup's error is reported. No error is reported here, so this loop repeats the failed
      // lookups. The DNS resolver limits the rate of lookups.
      for (const failed of this.#failed) this.#resolvers[failed]?.updateResolution();
      return this.#listener(experimental.statusOrFromValue(endpoints), {}, null, "");
    }
    if (this.#results.includes(undefined)) return true;
    return this.#listener(result, {}, null, "");
  }
}

const splitNames = ({ path }: Target): string[] => path.split(",");

const toDnsTargets = (target: Target): Target[] =>
  splitNames(target).map((path) => ({ ...target, scheme: "dns", path }));

/** Registers the scheme `names` for channel targets. */
export function registerNamesResolver(): void {
  experimental.registerResolver("names", NamesResolver);
}
