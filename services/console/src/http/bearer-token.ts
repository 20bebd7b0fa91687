import type { FastifyRequest } from "fastify";

const BEARER = /^Bearer /i;

/**
 * Returns whether a request has a bearer token. Browsers add credentials of other schemes by themselves, if a proxy before the console asks for
 * them, so those neither sign in nor show that the request is a script's.
 */
export const hasBearerToken = ({ headers }: FastifyRequest) => BEARER.test(headers.authorization ?? "");
