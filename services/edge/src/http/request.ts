import type { FastifyRequest } from "fastify";

/**
 * The response header with the id of an API request, which is the id of the turn that the request opens. If the response streams the reply of an
 * earlier turn, the header has that turn's id.
 */
export const REQUEST_ID_HEADER = "Parley-Request-Id";

/** The route label of requests without a route and of data that is not an HTTP request. */
export const NO_ROUTE = "none";

/** Returns the pattern of a request's route. The path is not usable as a label because it contains session ids. */
export function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url ?? NO_ROUTE;
}

export function isApiRoute(route: string): boolean {
  return route.startsWith("/api/");
}
