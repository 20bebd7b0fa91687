import { type ProviderFailure, redactProviderError, renderPrompt } from "../providers/index.ts";
import type { AttemptRequest } from "./attempt-result.ts";

/** Sets the failure's `providerError`, without keys and without texts of the request or of the completion so far. */
export function redactFailure(
  failure: ProviderFailure,
  { candidate, prompt, tools, toolRounds }: AttemptRequest,
  completionText: string,
): ProviderFailure {
  const { settings } = candidate.guardedProvider;
  return failure.withRedactedError((error) =>
    redactProviderError(error, {
      secrets: settings.kind === "builtin" ? [] : [settings.apiKey ?? "", ...Object.values(settings.headers)],
      texts: [
        ...renderPrompt(prompt).map(({ content }) => content),
        ...toolRounds.flatMap(({ text, assistantMessage, calls }) => [
          text,
          withoutEscapes(JSON.stringify(assistantMessage ?? {})),
          ...calls.flatMap(({ request, result }) => [
            withoutEscapes(request.arguments),
            result,
            withoutEscapes(result),
          ]),
        ]),
        completionText,
      ],
      names: [candidate.name, candidate.model, ...tools.map(({ name }) => name)],
    }),
  );
}

/** Replaces JSON's escapes, which would join words: `\n` and a word become one word. */
function withoutEscapes(json: string): string {
  return json.replaceAll(/\\+["\\/bfnrt]/g, " ");
}
