import { type Egress, EgressPolicy } from "../egress/policy.ts";
import type { SecretSource } from "./secrets.ts";

/** Lists all problems of the environment, so that the operator can fix them together. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Node's timers fire immediately if their delay exceeds 2,147,483,647 ms. The sum of two delays of MAX_INTEGER ms is below that. */
const MAX_INTEGER = 1_000_000_000;

/** Reads typed values from environment variables and collects the problems. An empty value counts as unset. */
export class Environment {
  readonly #values: Readonly<Record<string, string | undefined>>;
  readonly #problems: string[] = [];

  constructor(values: Readonly<Record<string, string | undefined>>) {
    this.#values = values;
  }

  optionalText(name: string): string | undefined {
    return this.#values[name] || undefined;
  }

  text(name: string, fallback: string): string {
    return this.optionalText(name) ?? fallback;
  }

  /** If the value is missing, `purpose` describes it in the error. */
  requiredText(name: string, purpose: string): string {
    const value = this.optionalText(name);
    if (value === undefined) this.#problems.push(`${name} is not set: ${purpose}`);
    return value ?? "";
  }

  integer(name: string, fallback: number, { min = 0, max = MAX_INTEGER } = {}): number {
    const text = this.optionalText(name);
    if (text === undefined) return fallback;
    const value = toNumber(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    this.#problems.push(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
    return fallback;
  }

  ratio(name: string, fallback: number): number {
    const text = this.optionalText(name);
    if (text === undefined) return fallback;
    const value = toNumber(text);
    if (value >= 0 && value <= 1) return value;
    this.#problems.push(`${name} must be a number from 0 to 1, not "${text}"`);
    return fallback;
  }

  port(name: string, fallback: number): number {
    return this.integer(name, fallback, { min: 1, max: 65_535 });
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.optionalText(name);
    if (text === undefined) return fallback;
    const value = allowed.find((each) => each === text);
    if (value === undefined) this.#problems.push(`${name} must be one of ${allowed.join(", ")}, not "${text}"`);
    return value ?? fallback;
  }

  /** Reads a required absolute URL with one of `schemes`. Its text never appears in an error, because it may contain a password. */
  requiredUrl(name: string, schemes: readonly string[], purpose: string): string {
    const text = this.requiredText(name, purpose);
    if (text !== "" && !isUrl(text, schemes))
      this.#problems.push(`${name} must be a URL (${schemes.join(", ")}): ${purpose}`);
    return text;
  }

  optionalUrl(name: string, schemes: readonly string[]): string | undefined {
    const text = this.optionalText(name);
    if (text !== undefined && !isUrl(text, schemes))
      this.#problems.push(`${name} must be a URL (${schemes.join(", ")})`);
    return text;
  }

  /**
   * Returns where a secret is: in the file that the variable `<name>_FILE` names, or else in the variable `name`. Returns undefined if neither is
   * set. Checks the text of the variable `name` with `parse`. Does not read the file: openSecret and readSecret do.
   */
  optionalSecret<T>(name: string, parse: (text: string) => T): SecretSource<T> | undefined {
    const file = this.optionalText(`${name}_FILE`);
    if (file !== undefined) return { name, parse, file };
    const text = this.optionalText(name);
    if (text === undefined) return undefined;
    try {
      parse(text);
    } catch (error) {
      this.#problems.push(`${name} ${error instanceof Error ? error.message : error}`);
    }
    return { name, parse, text };
  }

  /** Like optionalSecret. If the secret is missing, `purpose` describes it in the error. */
  requiredSecret<T>(name: string, parse: (text: string) => T, purpose: string): SecretSource<T> {
    return this.optionalSecret(name, parse) ?? { name, parse, text: this.requiredText(name, purpose) };
  }

  /** Reads words separated by commas or white space. */
  list(name: string): string[] {
    return (this.optionalText(name) ?? "").split(/[\s,]+/).filter((word) => word !== "");
  }

  /** Reads EGRESS_PROXY, and EGRESS_ALLOW: the private networks that URLs of knowledge sources and tools may reach. */
  egress(): Egress {
    return { policy: this.#egressPolicy(), proxyUrl: this.optionalProxyUrl("EGRESS_PROXY") };
  }

  /** Reads the URL of an HTTP proxy, such as http://proxy.example.internal:3128. */
  optionalProxyUrl(name: string): string | undefined {
    const text = this.optionalUrl(name, ["http", "https"]);
    if (text === undefined || !URL.canParse(text)) return text;
    const { pathname, search, hash, username, password } = new URL(text);
    if (pathname !== "/" || search !== "" || hash !== "")
      this.#problems.push(`${name} must have no path, query or fragment`);
    if ((username === "") !== (password === "")) this.#problems.push(`${name} needs both a user name and a password`);
    if (!hasDecodableUrlCredentials(text)) this.#problems.push(`${name} ${UNDECODABLE_URL_CREDENTIALS}`);
    return text;
  }

  #egressPolicy(): EgressPolicy {
    try {
      return new EgressPolicy(this.list("EGRESS_ALLOW"));
    } catch (error) {
      this.#problems.push(`EGRESS_ALLOW: ${error instanceof Error ? error.message : error}`);
      return new EgressPolicy();
    }
  }

  /** Adds a problem that a service has found itself. */
  addProblem(problem: string): void {
    this.#problems.push(problem);
  }

  /** Returns the configuration, frozen. Throws ConfigError if there are problems. */
  finish<T extends object>(config: T): Readonly<T> {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
    return Object.freeze(config);
  }
}

/** The problem to report if hasDecodableUrlCredentials returns false. */
export const UNDECODABLE_URL_CREDENTIALS = "has a % in its user name or password that is not written as %25";

/** Returns whether the user name and the password of a URL can be percent-decoded. */
export function hasDecodableUrlCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}

/** Like Number, but returns NaN for white space instead of 0. */
function toNumber(text: string): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
}
