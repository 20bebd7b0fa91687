import type { FastifyRequest } from "fastify";

const BEARER = /^Bearer /i;

/**
 * Returns whether a request has a bearer token. Browsers add credentials of other schemes by themselves, if a proxy before the console asks for
 * them. So such credentials do not authenticate, and do not show that a script sent the request.
 */
export const hasBearerToken = ({ headers }: FastifyRequest) => BEARER.test(headers.authorization ?? "");
