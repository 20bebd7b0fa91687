import type { JSONObject } from "@ai-sdk/provider";

/** Returns an empty object if the text is not a JSON object: providers refuse other arguments of a call, even if their own model wrote them. */
export function parseObject(text: string): JSONObject {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JSONObject) : {};
  } catch {
    return {};
  }
}
