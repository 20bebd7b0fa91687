import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { NativeSettings } from "../../settings/index.ts";
import type { BodyCheck } from "./body-check.ts";

export type ModelOptions = {
  settings: NativeSettings;
  /** The model's name without its provider. */
  model: string;
  /** Sends the model's requests. */
  fetch: typeof fetch;
};

export type CreateModel = (options: ModelOptions) => LanguageModelV4 | Promise<LanguageModelV4>;

/** What differs between the APIs: each kind has one file in kinds/. */
export type NativeApi = {
  /** Imports the API's packages, so that a process without such a provider does not load them. */
  load(): Promise<CreateModel>;
  /** Creates models that build requests but send none, and so need no credentials. Default: `load`. */
  loadOffline?(): Promise<CreateModel>;
  /** Returns the check of a response's body. Default: that of Server-Sent Events. */
  createBodyCheck?(): BodyCheck;
  /** Returns what marks the end of a part of the prompt that the provider caches; undefined if it caches by itself, or not at all. */
  findCacheMark?(model: string): SharedV4ProviderOptions | undefined;
  /** Whether the package removes the calls and their results from a request in which the model must not call tools. */
  losesCallsWithoutTools?: boolean;
};

/** Sets the URL and the key, because the packages would read missing ones from the environment. parseSettings requires a key. */
export function readKeyOptions({ baseUrl, apiKey = "none", headers }: NativeSettings) {
  return { baseURL: baseUrl, apiKey, headers: { ...headers } };
}
