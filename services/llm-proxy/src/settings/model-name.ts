/** The parts of a model name, `<provider>:<name>`. `name` may contain colons (`ollama:llama3.2:3b`). */
export type ModelName = { provider: string; name: string };

const MODEL = /^([a-z0-9][a-z0-9_-]{0,31}):([!-~]{1,200})$/;

/** Returns undefined if the text is not a valid model name. */
export function parseModelName(text: string): ModelName | undefined {
  const [, provider, name] = MODEL.exec(text) ?? [];
  return provider === undefined || name === undefined ? undefined : { provider, name };
}

/** The `provider` that parseModelName returns for a route (a list of models), such as `route:fast`. No provider can be named `route`. */
export const ROUTE_PREFIX = "route";
