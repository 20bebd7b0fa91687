/** The parts of a model name, `<provider>:<name>`. `name` may contain colons (`ollama:llama3.2:3b`). */
export type ModelName = { provider: string; name: string };

const MODEL = /^([a-z0-9][a-z0-9_-]{0,31}):([!-~]{1,200})$/;

/** Returns undefined if the text is not a valid model name. */
export function parseModelName(text: string): ModelName | undefined {
  const [, provider, name] = MODEL.exec(text) ?? [];
  return provider === undefined || name === undefined ? undefined : { provider, name };
}

/** The prefix of a route, as in `route:fast`. No provider can have this name. */
export const ROUTE_PREFIX = "route";
