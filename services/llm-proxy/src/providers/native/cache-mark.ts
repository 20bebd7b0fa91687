import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { NativeKind } from "../../settings/index.ts";

/** The models of Bedrock that accept marks: Claude since 3.5 Haiku and 3.7 Sonnet, and Nova. Bedrock refuses marks of other models. */
const CACHING_MODELS = /\banthropic\.claude-(?!instant|v\d|3-(?:haiku|sonnet|opus)|3-5-sonnet)|\bamazon\.nova-/;

/** Returns what marks the end of a part of the prompt that the provider caches; undefined if it caches by itself, or not at all. */
export function cacheMarkOf(kind: NativeKind, model: string): SharedV4ProviderOptions | undefined {
  if (kind === "anthropic") return { anthropic: { cacheControl: { type: "ephemeral" } } };
  if (kind === "bedrock" && CACHING_MODELS.test(model)) return { bedrock: { cachePoint: { type: "default" } } };
  return undefined;
}
