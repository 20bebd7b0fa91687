import { EgressPolicy } from "./egress/policy.ts";

/** Raised once with everything that is wrong with the environment, so that it is mended in one go. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Reads typed values from an environment and collects what is wrong. An empty value counts as unset. */
export class Environment {
  readonly #values: Readonly<Record<string, string | undefined>>;
  readonly #problems: string[] = [];

  constructor(values: Readonly<Record<string, string | undefined>>) {
    this.#values = values;
  }

  optional(name: string): string | undefined {
    return this.#values[name] || undefined;
  }

  text(name: string, fallback: string): string {
    return this.optional(name) ?? fallback;
  }

  /** A value the service cannot start without; `why` says what it is for. */
  required(name: string, why: string): string {
    const value = this.optional(name);
    if (value === undefined) this.#problems.push(`${name} is not set: ${why}`);
    return value ?? "";
  }

  /** A whole number between `min` and `max`. */
  integer(name: string, fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    this.#problems.push(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
    return fallback;
  }

  /** A number from 0 to 1. */
  ratio(name: string, fallback: number): number {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (value >= 0 && value <= 1) return value;
    this.#problems.push(`${name} must be a number from 0 to 1, not "${text}"`);
    return fallback;
  }

  port(name: string, fallback: number): number {
    return this.integer(name, fallback, { min: 1, max: 65_535 });
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = allowed.find((each) => each === text);
    if (value === undefined) this.#problems.push(`${name} must be one of ${allowed.join(", ")}, not "${text}"`);
    return value ?? fallback;
  }

  /** An absolute URL of one of `schemes`; its text never appears in an error, since it may hold a password. */
  url(name: string, schemes: readonly string[], why: string): string {
    const text = this.required(name, why);
    if (text !== "" && !isUrl(text, schemes))
      this.#problems.push(`${name} must be a URL (${schemes.join(", ")}): ${why}`);
    return text;
  }

  optionalUrl(name: string, schemes: readonly string[]): string | undefined {
    const text = this.optional(name);
    if (text !== undefined && !isUrl(text, schemes))
      this.#problems.push(`${name} must be a URL (${schemes.join(", ")})`);
    return text;
  }

  /** Words separated by commas or blanks. */
  list(name: string): string[] {
    return (this.optional(name) ?? "").split(/[\s,]+/).filter((word) => word !== "");
  }

  /** EGRESS_ALLOW: the networks that URLs of visitors' and owners' making may lead to, beside the public ones. */
  egressPolicy(): EgressPolicy {
    try {
      return new EgressPolicy(this.list("EGRESS_ALLOW"));
    } catch (error) {
      this.#problems.push(`EGRESS_ALLOW: ${error instanceof Error ? error.message : error}`);
      return new EgressPolicy();
    }
  }

  /** Adds a problem found by a rule of the service's own. */
  refuse(problem: string): void {
    this.#problems.push(problem);
  }

  /** The finished configuration, frozen; throws ConfigError when anything was wrong. */
  finish<T extends object>(config: T): Readonly<T> {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
    return Object.freeze(config);
  }
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
}
