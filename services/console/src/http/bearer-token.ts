import type { FastifyRequest } from "fastify";

const BEARER = /^Bearer /i;

/**
 * Returns whether a request has a bearer token. Browsers add credentials of other schemes, such as Basic, by themselves. So of
 * all Authorization headers, only a bearer token authenticates a request and exempts it from the same-origin check.
 */
export const hasBearerToken = ({ headers }: FastifyRequest) => BEARER.test(headers.authorization ?? "");
