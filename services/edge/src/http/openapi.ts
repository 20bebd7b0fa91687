import openapi from "../../openapi.json" with { type: "json" };

type Schema = { properties?: Record<string, { enum?: string[] }> };
type Response = { $ref?: string; content?: Record<string, { schema?: Schema }> };
type Document = {
  paths: Record<string, Record<string, { responses?: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
};

/** Returns the codes of the errors that the document names for each route, such as `rate_limited` for `/api/chat/`. */
export function listDocumentedErrors(): { route: string; codes: string[] }[] {
  const { paths, components } = openapi as unknown as Document;
  return Object.entries(paths).map(([path, operations]) => {
    const responses = Object.values(operations).flatMap((operation) => Object.entries(operation.responses ?? {}));
    const codes = responses.flatMap(([status, response]) => {
      const { content = {} } = response.$ref === undefined ? response : findResponse(components, response.$ref);
      const properties = Object.values(content).flatMap(({ schema }) => Object.values(schema?.properties ?? {}));
      return /^[45]/.test(status) ? properties.flatMap((property) => property.enum ?? []) : [];
    });
    return { route: toRoute(path), codes: [...new Set(codes)] };
  });
}

function findResponse({ responses }: Document["components"], ref: string): Response {
  return responses[ref.replace(/^.*\//, "")] ?? {};
}

/** Returns the route's pattern as Fastify writes it: `/sessions/:sessionId` for `/sessions/{session_id}`. */
function toRoute(path: string): string {
  return path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => `:${name.replaceAll(/_(\w)/g, (__, letter: string) => letter.toUpperCase())}`,
  );
}
