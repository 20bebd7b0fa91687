/** A model as `<provider>:<model_name>`; the name may hold colons itself (`ollama:llama3.2:3b`). */
export type ModelName = { provider: string; name: string };

const MODEL = /^([a-z0-9][a-z0-9_-]{0,31}):([!-~]{1,200})$/;

/** Reads a model's full name; undefined when it is none. */
export function parseModelName(text: string): ModelName | undefined {
  const [, provider, name] = MODEL.exec(text) ?? [];
  return provider === undefined || name === undefined ? undefined : { provider, name };
}

/** The prefix under which a route is asked for: `route:fast`. No provider can have it for a name. */
export const ROUTE_PREFIX = "route";
